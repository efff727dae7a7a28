// Measures many waiting instances: the cost of waking one of them, their memory and disk space, and
// the time until millrace is ready again after a kill.
#include <fmt/format.h>

#include "base/check.h"
#include "bench/bare_loop.h"
#include "bench/harness.h"
#include "bench/lifecycles.h"
#include "bench/rows.h"
#include "bench/workflows.h"
#include "orchestrator/check/store_check.h"
#include "orchestrator/service/store_check_options.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/transaction.h"

namespace millrace {
namespace {

/// The time of a scan of all rows of the live instances, in seconds.
double scan_seconds(const std::filesystem::path& data) {
  const auto environment = Environment::open(data);
  CHECK(environment.has_value(), "{}", environment.error().message);
  const auto snapshot = Snapshot::take(**environment);
  CHECK(snapshot.has_value());
  const Stopwatch watch;
  size_t bytes = 0;
  static_cast<const View&>(*snapshot).scan(Table::kLive, {},
                                           [&](std::string_view key, std::string_view value) {
                                             bytes += key.size() + value.size();
                                             return true;
                                           });
  CHECK(bytes > 0);
  return watch.seconds();
}

/// The time of a store check in this process, in seconds.
double verify_seconds(const std::filesystem::path& data) {
  const Stopwatch watch;
  const auto report = check_folder(data, {}, store_check_options());
  CHECK(report.has_value(), "{}", report.error().message);
  CHECK(report->sound());
  return watch.seconds();
}

void among(size_t waiting) {
  LifecyclePlan plan{.in_flight = 512, .count = 60'000, .waiting = waiting};
  Lifecycles bare;
  {
    const Site site;
    const BareLoop loop(site.folder() / "bare", site.broker->url());
    bare = run_lifecycles(site, loop.pid(), plan);
  }
  const Site site;
  const auto data = site.folder() / "data";
  // The deduplication window is short, so that the measured memory is that of the waiting instances
  // only.
  MillraceProcess process(data, site.broker->url(), {"--dedupe-window", "1s"});
  process.start();
  process.apply(kLifecycle, "life");
  run_lifecycles(site, process.pid(), {.run = "warm", .in_flight = 512, .count = 60'000});
  const int64_t empty = process.anonymous_memory();
  const uint64_t empty_disk = bytes_on_disk(data);
  int64_t memory = 0;
  uint64_t disk = 0;
  plan.filled = [&] {
    memory = process.anonymous_memory() - empty;
    disk = bytes_on_disk(data) - empty_disk;
  };
  const std::string label = fmt::format("{} waiting", waiting);
  print(fmt::format("lifecycle, 512 in flight, any of {} woken", label),
        run_lifecycles(site, process.pid(), plan), bare);

  const auto each = [&](auto bytes) {
    return fmt::format("{:.0f} B", static_cast<double>(bytes) / static_cast<double>(waiting));
  };
  row(fmt::format("anonymous memory of each of {}", label), each(memory));
  row("  on disk, with its history", each(disk));
  process.kill();
  const double scan = scan_seconds(data);
  const double verify = verify_seconds(data);
  const double start = process.start();
  row(fmt::format("kill -9 to ready, {}", label), fmt::format("{:.2f} s", start),
      fmt::format("a scan of their rows {:.2f} s: {:.1f}", scan, start / scan));
  row(fmt::format("millrace verify --data, {}", label), fmt::format("{:.2f} s", verify),
      fmt::format("a scan of their rows {:.2f} s: {:.1f}", scan, verify / scan));
  row("  anonymous memory of each after this start", each(process.anonymous_memory() - empty));
}

}  // namespace

void waiting() {
  among(100'000);
  among(1'000'000);
}

}  // namespace millrace
