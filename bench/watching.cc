// A mode that measures what streams of live messages cost: the lifecycles without a stream and
// beside many of them, in turns, and the processor time of the engine thread and of the threads
// that make and send the messages.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "bench/arguments.h"
#include "bench/harness.h"
#include "bench/lifecycles.h"
#include "bench/modes.h"
#include "bench/stream_watchers.h"
#include "bench/thread_times.h"
#include "bench/workflows.h"
#include "model/instance.h"

namespace millrace {
namespace {

/// The most streams that the server gives to one client.
constexpr size_t kMostWatched = 64;
constexpr double kEngineAim = 1;   ///< percent of a core
constexpr double kGatewayAim = 5;  ///< percent of a core
constexpr double kStreamAim = 30;  ///< KB/s of each stream

struct WatchPlan {
  size_t pairs = 5;
  size_t streams = 50;
  size_t lifecycles = 80'000;
  size_t in_flight = 512;
};

/// One load, and the processor time of threads of the server, in seconds.
struct WatchedLoad {
  double rate = 0;
  double seconds = 0;
  double engine = 0;   ///< thread `engine`
  double gateway = 0;  ///< threads `live` and `gateway`
  double bytes = 0;    ///< that the streams have got

  /// Processor time of a lifecycle on the engine thread, in microseconds.
  double engine_cost() const { return engine / seconds / rate * 1e6; }
};

/// The path of a stream. The filters of streams with different numbers differ.
std::string watched_path(size_t number) {
  std::string statuses;
  for (size_t bit = 0; bit <= static_cast<size_t>(InstanceStatus::kTimedOut); ++bit) {
    if (((number + 1) >> bit & 1) == 0) continue;
    if (!statuses.empty()) statuses += ',';
    statuses += to_string(static_cast<InstanceStatus>(bit));
  }
  return "/v1/ns/default/stream?topics=counts,levels,instances&status=" + statuses;
}

class WatchBench {
 public:
  WatchBench(const Site& site, MillraceProcess& server, const WatchPlan& plan)
      : site_(site), server_(server), plan_(plan) {
    for (size_t i = 0; i < plan.streams; ++i) paths_.push_back(watched_path(i));
  }

  WatchedLoad measure(bool is_watched) {
    std::unique_ptr<StreamWatchers> watchers;
    if (is_watched) watchers = std::make_unique<StreamWatchers>(server_.url(), paths_);
    const uint64_t bytes = watchers ? watchers->bytes() : 0;
    const ThreadTimes before = thread_times(server_.pid());
    const Stopwatch watch;
    const Lifecycles took = run_lifecycles(site_, server_.pid(),
                                           {.run = fmt::format("w{}", ++runs_),
                                            .in_flight = plan_.in_flight,
                                            .count = plan_.lifecycles});
    ThreadTimes used = added_between(before, thread_times(server_.pid()));
    return {.rate = took.rate(),
            .seconds = watch.seconds(),
            .engine = used["engine"].runs,
            .gateway = used["live"].runs + used["gateway"].runs,
            .bytes = watchers ? static_cast<double>(watchers->bytes() - bytes) : 0};
  }

 private:
  const Site& site_;
  MillraceProcess& server_;
  const WatchPlan& plan_;
  std::vector<std::string> paths_;
  size_t runs_ = 0;
};

std::string aim_text(double figure, double aim, std::string_view unit) {
  return fmt::format("aim {:.0f} {}: {}", aim, unit, figure <= aim ? "kept" : "missed");
}

/// The median of what `figure` gives for each load.
template <class Figure>
double median_of(const std::vector<WatchedLoad>& loads, Figure figure) {
  std::vector<double> figures;
  for (const WatchedLoad& load : loads) figures.push_back(figure(load));
  return percentile(std::move(figures), 0.5);
}

void print_watched(const WatchPlan& plan, const std::vector<WatchedLoad>& alone,
                   const std::vector<WatchedLoad>& watched) {
  std::vector<double> ratios;
  std::vector<double> further;  // processor time of the engine thread, in percent of a core
  for (size_t i = 0; i < alone.size(); ++i) {
    ratios.push_back(watched[i].rate / alone[i].rate);
    further.push_back((watched[i].engine_cost() - alone[i].engine_cost()) * watched[i].rate / 1e4);
  }
  const auto rate = [](const WatchedLoad& load) { return load.rate; };
  const auto cost = [](const WatchedLoad& load) { return load.engine_cost(); };
  const auto share = [](const WatchedLoad& load) { return 100 * load.gateway / load.seconds; };
  row(fmt::format("lifecycles, {} in flight, no stream", plan.in_flight),
      fmt::format("{:.0f}/s", median_of(alone, rate)),
      fmt::format("engine thread {:.1f} us a lifecycle", median_of(alone, cost)));
  row(fmt::format("lifecycles beside {} streams", plan.streams),
      fmt::format("{:.0f}/s", median_of(watched, rate)),
      fmt::format("of the rate without them {:.3f} (median of {} pairs)", percentile(ratios, 0.5),
                  ratios.size()));
  const double engine = percentile(further, 0.5);
  row("  engine thread, further", fmt::format("{:.2f} % of a core", engine),
      fmt::format("{:.1f} us a lifecycle, without streams {:.1f}; {}", median_of(watched, cost),
                  median_of(alone, cost), aim_text(engine, kEngineAim, "%")));
  const double gateway = median_of(watched, share);
  row("  threads live and gateway", fmt::format("{:.2f} % of a core", gateway),
      fmt::format("without streams {:.2f} %; {}", median_of(alone, share),
                  aim_text(gateway, kGatewayAim, "%")));
  const double speed = median_of(watched, [&](const WatchedLoad& load) {
    return load.bytes / load.seconds / static_cast<double>(plan.streams) / 1e3;
  });
  row("  each stream", fmt::format("{:.1f} KB/s", speed), aim_text(speed, kStreamAim, "KB/s"));
}

}  // namespace

Result<int> watching(const ModeArguments& arguments) {
  WatchPlan plan;
  TRY(read_arguments(arguments, {{"PAIRS", &plan.pairs},
                                 {"--streams", &plan.streams},
                                 {"--lifecycles", &plan.lifecycles},
                                 {"--in-flight", &plan.in_flight}}));
  if (plan.pairs == 0 || plan.lifecycles == 0 || plan.in_flight == 0) {
    return fail("bench.argument", "PAIRS, --lifecycles and --in-flight: expected 1 or more");
  }
  if (plan.streams == 0 || plan.streams > kMostWatched) {
    return fail("bench.argument",
                fmt::format("--streams: {}; expected 1 to {}", plan.streams, kMostWatched));
  }
  const Site site;
  MillraceProcess server(site.folder() / "data", site.broker->url());
  server.start();
  server.apply(kLifecycle, "life");
  WatchBench bench(site, server, plan);
  bench.measure(false);  // not counted: the first load is slower
  std::vector<WatchedLoad> alone;
  std::vector<WatchedLoad> watched;
  for (size_t pair = 0; pair < plan.pairs; ++pair) {
    const bool alone_first = pair % 2 == 0;
    if (alone_first) alone.push_back(bench.measure(false));
    watched.push_back(bench.measure(true));
    if (!alone_first) alone.push_back(bench.measure(false));
  }
  row("what", "figure", "comparison");
  row("---", "---:", "---");
  print_watched(plan, alone, watched);
  return 0;
}

}  // namespace millrace
