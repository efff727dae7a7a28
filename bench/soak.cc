// A soak: lifecycles at a fixed rate for a long time, on a server that deletes ended instances by
// its retention, and of which backups are made. It shows whether memory, descriptors, files and
// times stay the same, and checks that each event has exactly one effect.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/arguments.h"
#include "bench/fixed_rate.h"
#include "bench/harness.h"
#include "bench/modes.h"
#include "bench/soak_backups.h"
#include "bench/workflows.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kInterval(10);
/// Ended instances are kept for a minute, so the store holds about `rate * 60` to `rate * 120`.
constexpr const char* kSettings = R"({"retention": {"ended": {"age": "PT1M"}}})";
/// The event stream drops its oldest events above this size, so it stays of one size, too.
constexpr const char* kStreamBytes = "1GiB";

struct SoakPlan {
  double minutes = 30;
  double rate = 5'000;   ///< lifecycles a second
  size_t backups = 120;  ///< seconds between two backups; 0: none
  fs::path out = "build/soak";
};

/// What was measured in one interval, and at its end.
struct Sample {
  double seconds = 0;  ///< since the begin
  double done = 0;     ///< lifecycles whose generated event arrived
  double behind = 0;   ///< as in RateInterval
  // Times of the lifecycles, in milliseconds; NaN: no generated event arrived.
  double p50 = 0;
  double p99 = 0;
  double longest = 0;
  // Memory and descriptors of the server; memory in bytes.
  double resident = 0;
  double anonymous = 0;
  double descriptors = 0;
  // Sizes in bytes: data.mdb, both journals, the folder of the streams, the pages of data.mdb with
  // rows and the free ones.
  double data = 0;
  double journal = 0;
  double stream = 0;
  double used = 0;
  double free = 0;
  double ended = 0;   ///< ended instances that the store has
  std::string trial;  ///< the steps of a backup and its check that ran in the interval
};

/// A column of the CSV file. Further columns: `trial`.
struct Column {
  const char* name;
  double Sample::*value;
  int digits;
};
constexpr Column kColumns[] = {
    {"seconds", &Sample::seconds, 0},
    {"done", &Sample::done, 0},
    {"behind", &Sample::behind, 0},
    {"p50_ms", &Sample::p50, 2},
    {"p99_ms", &Sample::p99, 2},
    {"max_ms", &Sample::longest, 2},
    {"rss_bytes", &Sample::resident, 0},
    {"anonymous_bytes", &Sample::anonymous, 0},
    {"descriptors", &Sample::descriptors, 0},
    {"data_bytes", &Sample::data, 0},
    {"journal_bytes", &Sample::journal, 0},
    {"stream_bytes", &Sample::stream, 0},
    {"used_bytes", &Sample::used, 0},
    {"free_bytes", &Sample::free, 0},
    {"ended", &Sample::ended, 0},
};

/// The CSV file of a soak.
class IntervalFile {
 public:
  explicit IntervalFile(const fs::path& path) : out_(path) {
    for (const Column& column : kColumns) out_ << column.name << ',';
    out_ << "trial\n";
  }
  void add(const Sample& sample) {
    for (const Column& column : kColumns) {
      out_ << fmt::format("{:.{}f},", sample.*column.value, column.digits);
    }
    out_ << sample.trial << std::endl;  // a soak that is interrupted leaves its intervals
  }
  bool good() const { return out_.good(); }

 private:
  std::ofstream out_;
};

/// The members of the `store` of /v1/info.
void read_store(const Json& info, Sample& sample) {
  const Json& store = info.at("store");
  sample.data = store.at("dataBytes").get<double>();
  sample.journal = store.at("journalBytes").get<double>();
  sample.used = store.at("usedBytes").get<double>();
  sample.free = store.at("freeBytes").get<double>();
  for (const Json& ns : store.at("namespaces")) sample.ended += ns.at("ended").get<double>();
}

void print(const Sample& sample) {
  const auto mb = [](double bytes) { return bytes / 1e6; };
  fmt::print(
      "{:>5.0f} s: {:>6.0f} done, {:>5.0f} behind, p50 {:.1f} ms, p99 {:.1f} ms, max {:.1f} ms, "
      "RSS {:.0f} MB, {:.0f} descriptors, data.mdb {:.0f} MB (used {:.0f}, free {:.0f}), journals "
      "{:.0f} MB, stream {:.0f} MB, {:.0f} ended {}\n",
      sample.seconds, sample.done, sample.behind, sample.p50, sample.p99, sample.longest,
      mb(sample.resident), sample.descriptors, mb(sample.data), mb(sample.used), mb(sample.free),
      mb(sample.journal), mb(sample.stream), sample.ended, sample.trial);
  std::fflush(stdout);
}

/// The median of one figure in the samples from `begin` to `end`; NaN if none has the figure.
double median(const std::vector<Sample>& samples, size_t begin, size_t end, double Sample::*value) {
  std::vector<double> values;
  for (size_t i = begin; i < end; ++i) {
    if (!std::isnan(samples[i].*value)) values.push_back(samples[i].*value);
  }
  return values.empty() ? std::nan("") : percentile(std::move(values), 0.5);
}

/// Prints the median of the third quarter beside that of the last quarter. A ratio near 1 means
/// that the figure has stopped to grow.
void print_flatness(const std::vector<Sample>& samples) {
  struct Figure {
    const char* name;
    double Sample::*value;
    const char* unit;
    double scale;
  };
  constexpr Figure kFigures[] = {
      {"memory (RSS)", &Sample::resident, "MB", 1e6},
      {"memory, anonymous", &Sample::anonymous, "MB", 1e6},
      {"descriptors", &Sample::descriptors, "", 1},
      {"data.mdb", &Sample::data, "MB", 1e6},
      {"pages with rows", &Sample::used, "MB", 1e6},
      {"journals", &Sample::journal, "MB", 1e6},
      {"folder of the streams", &Sample::stream, "MB", 1e6},
      {"ended instances", &Sample::ended, "", 1},
      {"p99", &Sample::p99, "ms", 1},
  };
  const size_t quarter = samples.size() / 4;
  if (quarter == 0) {
    fmt::print("the soak has fewer than four intervals, so its quarters are not compared\n");
    return;
  }
  row("median of", "third quarter", "last quarter: ratio");
  row("---", "---:", "---");
  const size_t size = samples.size();
  for (const Figure& figure : kFigures) {
    const double third = median(samples, size - 2 * quarter, size - quarter, figure.value);
    const double last = median(samples, size - quarter, size, figure.value);
    row(figure.name, fmt::format("{:.1f} {}", third / figure.scale, figure.unit),
        fmt::format("{:.1f} {}: {:.3f}", last / figure.scale, figure.unit, last / third));
  }
}

/// Measures the intervals of the soak, one after the other.
std::vector<Sample> measure(const SoakPlan& plan, const Site& site, MillraceProcess& server,
                            FixedRateLoad& load, SoakBackups& backups, IntervalFile& file) {
  std::vector<Sample> samples;
  const auto begin = std::chrono::steady_clock::now();
  const auto intervals = std::max<int64_t>(1, std::llround(plan.minutes * 60 / kInterval.count()));
  for (int64_t i = 1; i <= intervals; ++i) {
    std::this_thread::sleep_until(begin + i * kInterval);
    const RateInterval interval = load.take();
    Sample sample{.seconds = static_cast<double>((i * kInterval).count()),
                  .done = static_cast<double>(interval.each.size()),
                  .behind = static_cast<double>(interval.behind),
                  .p50 = interval.time(0.5),
                  .p99 = interval.time(0.99),
                  .longest = interval.time(1),
                  .resident = static_cast<double>(server.resident_memory()),
                  .anonymous = static_cast<double>(server.anonymous_memory()),
                  .descriptors = static_cast<double>(server.open_descriptors()),
                  .stream = static_cast<double>(bytes_on_disk(site.folder() / "nats" / "store")),
                  .trial = backups.take()};
    read_store(server.ask("GET", "/v1/info"), sample);
    print(sample);
    file.add(sample);
    samples.push_back(std::move(sample));
  }
  return samples;
}

Result<SoakPlan> plan_of(const ModeArguments& arguments) {
  SoakPlan plan;
  TRY(read_arguments(arguments, {{"MINUTES", &plan.minutes},
                                 {"--rate", &plan.rate},
                                 {"--backups", &plan.backups},
                                 {"--out", &plan.out}}));
  return plan;
}

}  // namespace

Result<int> soak(const ModeArguments& arguments) {
  const SoakPlan plan = TRY(plan_of(arguments));
  std::error_code error;
  fs::create_directories(plan.out, error);
  IntervalFile file(plan.out / "soak.csv");
  if (!file.good()) {
    return fail("bench.argument",
                fmt::format("--out: {} cannot be written; name a folder that can be made and "
                            "written",
                            (plan.out / "soak.csv").string()));
  }
  const Site site;
  const fs::path data = site.folder() / "data";
  MillraceProcess server(data, site.broker->url(), {"--events-max-bytes", kStreamBytes});
  server.start();
  server.ask("PUT", "/v1/ns/default", kSettings);
  server.apply(kLifecycle, "life");
  FixedRateLoad load(site.broker->url(), {.run = "soak", .rate = plan.rate});
  SoakBackups backups(server, {.every = std::chrono::seconds(plan.backups),
                               .data = data,
                               .scratch = site.folder(),
                               .kept = plan.out});
  const std::vector<Sample> samples = measure(plan, site, server, load, backups, file);
  const RateTotals totals = load.finish();
  const SoakBackups::Totals checked = backups.finish();

  print_flatness(samples);
  fmt::print("{} lifecycles at {:.0f} a second: {} lost, {} doubled, {} sent again under one id\n",
             totals.sent, plan.rate, totals.lost, totals.doubled, totals.repeated);
  fmt::print("{} backups, {} did not pass\n", checked.made, checked.failed);
  return totals.exactly_once() && checked.failed == 0 ? 0 : 1;
}

}  // namespace millrace
