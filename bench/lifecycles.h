// Lifecycles through a broker: an event starts an instance, another wakes it, it generates a third.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness.h"

namespace millrace {

/// What some lifecycles took.
struct Lifecycles {
  double seconds = 0;
  std::vector<double> each;  ///< in milliseconds
  /// Processor time of one, in microseconds: of the engine's process, of the broker's, of this one,
  /// which is the load.
  double engine_cost = 0;
  double broker_cost = 0;
  double load_cost = 0;

  double rate() const { return static_cast<double>(each.size()) / seconds; }
  std::string percentiles() const;
  std::string costs() const;
};

struct LifecyclePlan {
  std::string workflow = "life";
  std::string run = "k";  ///< keeps the keys apart from those of other runs
  size_t in_flight = 1;
  size_t count = 0;
  /// So many are started first and wait; each that starts from then on has any of them woken.
  size_t waiting = 0;
  std::function<void()> filled;  ///< called when they wait; none: nobody wants to know
};

/// Keeps `in_flight` lifecycles going until `count` have ended. `engine` is the process that runs
/// them.
Lifecycles run_lifecycles(const Site& site, int engine, const LifecyclePlan& plan);

/// Prints the rows of such a run, beside those of the bare loop.
void print(std::string_view what, const Lifecycles& took, const Lifecycles& bare);

}  // namespace millrace
