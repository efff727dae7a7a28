// What the log of a cluster costs: lifecycles with the log on three nats-servers and without it, in
// turns. Also how fast a standby with an empty folder follows, and how long a takeover takes. All
// processes share the machine, so the figures are those of one machine and not of three.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/arguments.h"
#include "bench/bench_cluster.h"
#include "bench/harness.h"
#include "bench/lifecycles.h"
#include "bench/modes.h"
#include "bench/nats_trio.h"
#include "bench/rows.h"
#include "bench/workflows.h"
#include "broker/stream_options.h"

namespace millrace {
namespace {

struct ClusterPlan {
  double seconds = 2;  ///< of one load
  size_t rounds = 5;
  size_t waiting = 100'000;     ///< instances of the second takeover; 0: no standby is measured
  size_t lifecycles = 100'000;  ///< in the log that a standby with an empty folder reads
};

constexpr size_t kFewWaiting = 1'000;  // instances of the first takeover
constexpr size_t kTakeovers = 3;       // of each cluster

/// A number of lifecycles in flight, and what is to be reached with the log.
struct LoadDepth {
  size_t count;
  size_t warm;  ///< lifecycles of the load that is not counted
  double rate;  ///< lifecycles a second; 0: no aim
  double p50;   ///< milliseconds; 0: no aim
};
constexpr std::array kLoadDepths = {
    LoadDepth{.count = 1, .warm = 300, .rate = 0, .p50 = 1.3},
    LoadDepth{.count = 64, .warm = 5'000, .rate = 7'500, .p50 = 0},
    LoadDepth{.count = 512, .warm = 15'000, .rate = 10'000, .p50 = 0}};

/// What one load has shown.
struct ClusterLoad {
  double rate = 0;
  double p50 = 0;  ///< milliseconds
  double p99 = 0;
  double engine_cost = 0;  ///< microseconds of a lifecycle, as in Lifecycles
  double broker_cost = 0;
  // Of a server with a log, for a lifecycle.
  double log_bytes = 0;
  double log_messages = 0;
  bool has_kept_active = true;  ///< the active is still the active
  // Of a server with a standby, at the end of the load.
  StandbyLag lag;
};

/// A server that is measured, and its loads by the number in flight.
struct ClusterSetup {
  std::string label;
  LoadBroker broker;
  MillraceProcess& server;
  BenchCluster* cluster = nullptr;  ///< of the server; nullptr: it has no log
  bool has_standby = false;
  std::map<size_t, std::vector<ClusterLoad>> loads;
  size_t runs = 0;
};

ClusterLoad run_on(ClusterSetup& setup, size_t in_flight, size_t count) {
  const StreamSize before = setup.cluster ? setup.cluster->log() : StreamSize();
  const Lifecycles took = run_lifecycles(
      setup.broker, setup.server.pid(),
      {.run = fmt::format("c{}", ++setup.runs), .in_flight = in_flight, .count = count});
  ClusterLoad load{.rate = took.rate(),
                   .p50 = percentile(took.each, 0.5),
                   .p99 = percentile(took.each, 0.99),
                   .engine_cost = took.engine_cost,
                   .broker_cost = took.broker_cost};
  if (setup.has_standby) load.lag = setup.cluster->standby_lag();
  if (setup.cluster) {
    const StreamSize after = setup.cluster->log();
    load.log_bytes = (after.bytes - before.bytes) / static_cast<double>(count);
    load.log_messages = (after.messages - before.messages) / static_cast<double>(count);
    load.has_kept_active = setup.server.metric("millrace_cluster_active") == 1;
  }
  return load;
}

/// The loads of all rounds with that number in flight. Each round begins with another setup.
void measure_in_turns(std::vector<ClusterSetup>& setups, const ClusterPlan& plan,
                      const LoadDepth& in_flight) {
  std::vector<size_t> counts;
  for (ClusterSetup& setup : setups) {
    const double rate = run_on(setup, in_flight.count, in_flight.warm).rate;  // not counted
    counts.push_back(std::max(in_flight.count * 2, static_cast<size_t>(rate * plan.seconds)));
  }
  for (size_t round = 0; round < plan.rounds; ++round) {
    for (size_t i = 0; i < setups.size(); ++i) {
      const size_t at = (round + i) % setups.size();
      setups[at].loads[in_flight.count].push_back(run_on(setups[at], in_flight.count, counts[at]));
    }
  }
}

/// The median of what `figure` gives for each load.
template <class Figure>
double median_of_loads(const std::vector<ClusterLoad>& loads, const Figure& figure) {
  std::vector<double> figures;
  for (const ClusterLoad& load : loads) figures.push_back(figure(load));
  return percentile(std::move(figures), 0.5);
}

/// The median of the quotients of the rates of each round, and the lowest and highest of them.
std::string rate_ratio(const std::vector<ClusterLoad>& loads,
                       const std::vector<ClusterLoad>& others) {
  std::vector<double> ratios;
  for (size_t i = 0; i < loads.size(); ++i) ratios.push_back(loads[i].rate / others[i].rate);
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", percentile(ratios, 0.5), percentile(ratios, 0),
                     percentile(ratios, 1));
}

void print_log(const ClusterSetup& setup, const std::vector<ClusterLoad>& loads) {
  const double bytes = median_of_loads(loads, [](const auto& load) { return load.log_bytes; });
  const double messages =
      median_of_loads(loads, [](const auto& load) { return load.log_messages; });
  row("  log of one lifecycle, in each replica", fmt::format("{:.0f} B", bytes),
      fmt::format("{:.3f} messages of {:.0f} B", messages, bytes / messages));
  const auto lost = std::count_if(loads.begin(), loads.end(),
                                  [](const auto& load) { return !load.has_kept_active; });
  if (lost > 0) row("  NOT VALID: another node became the active", fmt::format("{} loads", lost));
  if (!setup.has_standby) return;
  const auto lag = [&](auto figure) {
    return median_of_loads(loads, [&](const auto& load) { return figure(load.lag); });
  };
  row("  the standby at the end of a load",
      fmt::format("{:.0f} commits, {:.3f} s behind",
                  lag([](const StandbyLag& one) { return one.commits; }),
                  lag([](const StandbyLag& one) { return one.seconds; })),
      fmt::format("all applied after {:.0f} ms",
                  lag([](const StandbyLag& one) { return one.applied_after; }) * 1'000));
}

/// `one` and `three`: the loads of the setups without a log.
void print_setup(const ClusterSetup& setup, const LoadDepth& in_flight,
                 const std::vector<ClusterLoad>& one, const std::vector<ClusterLoad>& three) {
  const std::vector<ClusterLoad>& loads = setup.loads.at(in_flight.count);
  const double rate = median_of_loads(loads, [](const auto& load) { return load.rate; });
  const double p50 = median_of_loads(loads, [](const auto& load) { return load.p50; });
  const double p99 = median_of_loads(loads, [](const auto& load) { return load.p99; });
  std::string beside;
  if (&loads != &one) beside = "of one NATS server " + rate_ratio(loads, one);
  if (setup.cluster) beside += "; of three without the log " + rate_ratio(loads, three);
  if (setup.cluster && in_flight.rate > 0) {
    beside += fmt::format("; aim {:.0f}/s: {:.2f}", in_flight.rate, rate / in_flight.rate);
  }
  row(fmt::format("lifecycles, {} in flight, {}", in_flight.count, setup.label),
      fmt::format("{:.0f}/s", rate), beside);
  row("  time of one lifecycle", fmt::format("p50 {:.2f} ms, p99 {:.2f} ms", p50, p99),
      setup.cluster && in_flight.p50 > 0
          ? fmt::format("p50: aim {:.1f} ms: {:.2f}", in_flight.p50, p50 / in_flight.p50)
          : "");
  row("  processor time of one lifecycle",
      fmt::format("{:.0f} us, broker {:.0f}",
                  median_of_loads(loads, [](const auto& load) { return load.engine_cost; }),
                  median_of_loads(loads, [](const auto& load) { return load.broker_cost; })));
  if (setup.cluster) print_log(setup, loads);
}

/// The lifecycles without a log, on one and on three nats-servers, and with it, without and with a
/// standby.
void measure_rates(const NatsProgram& program, const NatsTrio& nats, const ClusterPlan& plan) {
  const Site single(program.path);
  MillraceProcess on_one(single.folder() / "data", single.broker->url());
  MillraceProcess on_three(single.folder() / "data-of-three", nats.url(0),
                           {"--stream-prefix", "plain", "--stream-replicas", "3"});
  for (MillraceProcess* const server : {&on_one, &on_three}) {
    server->start();
    server->apply(kLifecycle, "life");
  }
  nats.make_first_lead(stream_name("plain", "EVENTS"));
  BenchCluster lone(nats, "lone");
  BenchCluster pair(nats, "pair");
  pair.start_standby();

  std::vector<ClusterSetup> setups;
  setups.push_back({.label = "one NATS server",
                    .broker = {.url = single.broker->url(), .processes = {single.broker->pid()}},
                    .server = on_one});
  setups.push_back(
      {.label = "three NATS servers",
       .broker = {.url = nats.url(0), .processes = nats.processes(), .prefix = "plain"},
       .server = on_three});
  setups.push_back({.label = "an active, no standby",
                    .broker = lone.broker(),
                    .server = lone.active(),
                    .cluster = &lone});
  setups.push_back({.label = "an active and a standby",
                    .broker = pair.broker(),
                    .server = pair.active(),
                    .cluster = &pair,
                    .has_standby = true});
  for (const LoadDepth& in_flight : kLoadDepths) {
    measure_in_turns(setups, plan, in_flight);
    for (const ClusterSetup& setup : setups) {
      print_setup(setup, in_flight, setups[0].loads.at(in_flight.count),
                  setups[1].loads.at(in_flight.count));
    }
  }
}

/// A standby that starts with an empty folder, and takeovers, with so many waiting instances.
void measure_takeovers(const NatsTrio& nats, const ClusterPlan& plan, const std::string& name,
                       size_t waiting) {
  BenchCluster cluster(nats, name);
  cluster.add_waiting(waiting);
  if (plan.lifecycles > 0) {
    run_lifecycles(cluster.broker(), cluster.active().pid(),
                   {.run = "log", .in_flight = 512, .count = plan.lifecycles});
  }
  const StandbyStart caught = cluster.start_standby();
  row(fmt::format("a standby with an empty folder is ready, {} waiting", waiting),
      fmt::format("{:.0f} messages/s", caught.log.messages / caught.seconds),
      fmt::format("{:.2f} s: {:.0f} messages, {:.1f} MB/s, {} lifecycles ({:.0f}/s)",
                  caught.seconds, caught.log.messages, caught.log.bytes / caught.seconds / 1e6,
                  plan.lifecycles, static_cast<double>(plan.lifecycles) / caught.seconds));
  std::vector<double> took;
  for (size_t i = 0; i < kTakeovers; ++i) took.push_back(cluster.take_over());
  row(fmt::format("kill -9 of the active to the first answer, {} waiting", waiting),
      fmt::format("{:.2f} s", percentile(took, 0.5)),
      fmt::format("median of {}; {:.2f} to {:.2f} s", took.size(), percentile(took, 0),
                  percentile(took, 1)));
}

/// A cluster that is founded with a store of so many waiting instances, and a standby that loads
/// them.
void measure_snapshot(const NatsTrio& nats, size_t waiting) {
  BenchCluster cluster(nats, "founded", waiting);
  row(fmt::format("a store with {} waiting founds a cluster", waiting),
      fmt::format("{:.2f} s", cluster.founding_seconds()),
      "from the start of the process: the snapshot is published, the node is the active and ready");
  row(fmt::format("a standby with an empty folder loads the snapshot, {} waiting", waiting),
      fmt::format("{:.2f} s", cluster.start_standby().seconds),
      "from the start of the process, until it has applied the log, too");
}

/// Returns whether there are nats-servers for it.
bool measure_cluster(const ClusterPlan& plan) {
  const std::optional<NatsProgram> program = newest_nats_program();
  if (!program) {
    row("lifecycles with the log of a cluster", "-",
        "no nats-server 2.10 or newer: tests/brokers/fetch.sh downloads one, or set "
        "MILLRACE_NATS_SERVER");
    return false;
  }
  row("NATS servers of the rows of the cluster", program->version,
      fmt::format("medians of {} rounds of loads of {:.1f} s", plan.rounds, plan.seconds));
  const NatsTrio nats(program->path);
  measure_rates(*program, nats, plan);
  if (plan.waiting == 0) return true;
  measure_takeovers(nats, plan, "few", kFewWaiting);
  measure_takeovers(nats, plan, "many", plan.waiting);
  measure_snapshot(nats, plan.waiting);
  return true;
}

}  // namespace

Result<int> cluster(const ModeArguments& arguments) {
  ClusterPlan plan;
  TRY(read_arguments(arguments, {{"SECONDS", &plan.seconds},
                                 {"--rounds", &plan.rounds},
                                 {"--waiting", &plan.waiting},
                                 {"--lifecycles", &plan.lifecycles}}));
  if (plan.rounds == 0) return fail("bench.argument", "--rounds: expected 1 or more");
  row("what", "figure", "comparison");
  row("---", "---:", "---");
  return measure_cluster(plan) ? 0 : 1;
}

void cluster_log() { measure_cluster({}); }

}  // namespace millrace
