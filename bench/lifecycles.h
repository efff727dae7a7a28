// Lifecycles through a broker: one event starts an instance, a second event wakes it, and the
// instance generates a third event.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness.h"

namespace millrace {

/// The results of a run of lifecycles.
struct Lifecycles {
  double seconds = 0;
  std::vector<double> each;  ///< time of each lifecycle, in milliseconds
  /// Processor time of one lifecycle, in microseconds: in the process that runs the instances, in
  /// the broker, and in this process, which generates the load.
  double engine_cost = 0;
  double broker_cost = 0;
  double load_cost = 0;

  double rate() const { return static_cast<double>(each.size()) / seconds; }
  std::string percentiles() const;
  std::string costs() const;
};

struct LifecyclePlan {
  std::string workflow = "life";
  std::string run = "k";  ///< each key begins with it, so that two measurements use different keys
  size_t in_flight = 1;
  size_t count = 0;
  /// The number of instances that are started before the measurement and wait. During the
  /// measurement, each start of an instance also wakes a random waiting instance.
  size_t waiting = 0;
  std::function<void()> filled;  ///< called once `waiting` instances wait; may be empty
};

/// The broker to which the load is published.
struct LoadBroker {
  std::string url;                  ///< of the nats-server to which the load connects
  std::vector<int> processes;       ///< the ids of all its nats-servers, whose costs are added up
  std::string prefix = "millrace";  ///< the prefix of the subjects, `--stream-prefix`
};

/// Keeps `in_flight` lifecycles in flight until `count` of them have ended. `engine` is the id of
/// the process that runs the instances. If no lifecycle ends for a minute, the program ends.
Lifecycles run_lifecycles(const LoadBroker& broker, int engine, const LifecyclePlan& plan);
/// The same with the broker of a site.
Lifecycles run_lifecycles(const Site& site, int engine, const LifecyclePlan& plan);

/// Rates of lifecycles, each the median of several loads.
struct RatesInTurns {
  double alone = 0;
  double beside = 0;
  double ratio = 0;  ///< the median of the quotients of the two loads of a pair
};

/// Measures `pairs` pairs of loads of `count` lifecycles with 512 in flight: one alone, then one
/// beside what `begin` starts, which ends with the object that `begin` returns.
template <class Begin>
RatesInTurns rates_in_turns(const Site& site, int engine, size_t pairs, size_t count,
                            const Begin& begin) {
  std::vector<double> alone;
  std::vector<double> beside;
  std::vector<double> ratios;
  for (size_t pair = 0; pair < pairs; ++pair) {
    const auto rate = [&](std::string_view name) {
      const std::string run = std::string(name) + "-" + std::to_string(pair) + "-";
      return run_lifecycles(site, engine, {.run = run, .in_flight = 512, .count = count}).rate();
    };
    alone.push_back(rate("alone"));
    const auto other = begin();
    beside.push_back(rate("beside"));
    ratios.push_back(beside.back() / alone.back());
  }
  return {percentile(alone, 0.5), percentile(beside, 0.5), percentile(ratios, 0.5)};
}

/// Prints the lines of a measurement, with the results of the bare loop as the comparison.
void print(std::string_view what, const Lifecycles& took, const Lifecycles& bare);

}  // namespace millrace
