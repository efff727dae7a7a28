// The deletion of many ended instances beside a fixed rate of lifecycles: how much longer the
// lifecycles take, and how many instances are deleted a second.
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "bench/arguments.h"
#include "bench/fixed_rate.h"
#include "bench/harness.h"
#include "bench/lifecycles.h"
#include "bench/modes.h"
#include "bench/workflows.h"

namespace millrace {
namespace {

constexpr std::chrono::seconds kWarm(10);   // not measured
constexpr std::chrono::seconds kAlone(60);  // the load before the deletion
constexpr std::chrono::milliseconds kLook(250);
constexpr const char* kDeleted = "millrace_instances_deleted_total";
constexpr const char* kAllEnded =
    R"({"status": ["complete", "failed", "cancelled", "timedout"], "workflow": "life"})";

struct DeletionPlan {
  size_t instances = 1'000'000;
  /// Lifecycles a second. With the default, about half of the processor time is free before the
  /// deletion, so the figures show the deletion and not a machine that is too small for the load.
  double rate = 2'000;
};

struct Deletion {
  double deleted = 0;
  double seconds = 0;
};

/// Deletes the instances that have ended, and returns when all of them are deleted.
Deletion delete_ended(MillraceProcess& server) {
  const double before = server.metric("millrace_namespace_ended_instances");
  const Stopwatch watch;
  server.ask("POST", "/v1/ns/default/instances/delete", kAllEnded);
  Deletion deletion;
  while (deletion.deleted < before) {
    std::this_thread::sleep_for(kLook);
    deletion.deleted = server.metric(kDeleted);
  }
  deletion.seconds = watch.seconds();
  return deletion;
}

std::string times(const RateInterval& interval) {
  return fmt::format("p50 {:.1f} ms, max {:.1f} ms, {} behind at the end", interval.time(0.5),
                     interval.time(1), interval.behind);
}

std::string p99(const RateInterval& interval) {
  return fmt::format("p99 {:.1f} ms", interval.time(0.99));
}

}  // namespace

Result<int> deletions(const ModeArguments& arguments) {
  DeletionPlan plan;
  TRY(read_arguments(arguments, {{"INSTANCES", &plan.instances}, {"LIFECYCLES", &plan.rate}}));
  const Site site;
  MillraceProcess server(site.folder() / "data", site.broker->url());
  server.start();
  server.apply(kLifecycle, "life");
  row("what", "figure", "further values");
  row("---", "---:", "---");
  if (plan.instances > 0) {
    const Lifecycles filled = run_lifecycles(
        site, server.pid(), {.run = "fill", .in_flight = 512, .count = plan.instances});
    row(fmt::format("{} instances ended before the load", plan.instances),
        fmt::format("{:.0f}/s", filled.rate()), filled.percentiles());
  }

  FixedRateLoad load(site.broker->url(), {.run = "beside", .rate = plan.rate});
  std::this_thread::sleep_for(kWarm);
  load.take();
  std::this_thread::sleep_for(kAlone);
  const RateInterval alone = load.take();
  const Deletion deletion = delete_ended(server);
  const RateInterval beside = load.take();
  const RateTotals totals = load.finish();

  row(fmt::format("{:.0f} lifecycles a second, alone", plan.rate), p99(alone), times(alone));
  row(fmt::format("{:.0f} lifecycles a second, during the deletion", plan.rate), p99(beside),
      times(beside));
  row("p99 during the deletion / p99 alone",
      fmt::format("{:.2f}", beside.time(0.99) / alone.time(0.99)));
  row(fmt::format("{:.0f} ended instances deleted", deletion.deleted),
      fmt::format("{:.0f}/s", deletion.deleted / deletion.seconds),
      fmt::format("{:.1f} s", deletion.seconds));
  row("lifecycles lost, doubled", fmt::format("{}, {}", totals.lost, totals.doubled),
      fmt::format("of {}", totals.sent));
  return totals.exactly_once() ? 0 : 1;
}

}  // namespace millrace
