// The clients of the workflow that other workflows may slow down (neighbours.cc): they measure the
// lifecycles of the workflow and the answers to commands, in one namespace.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bench/harness.h"

namespace millrace {

/// What the clients measured in one interval. Times are in milliseconds.
struct VictimTimes {
  /// From the publication of the event that starts an instance until its generated event arrives. A
  /// lifecycle that has not ended counts with the time that it has taken so far.
  std::vector<double> lifecycles;
  size_t unfinished = 0;         ///< lifecycles that have not ended
  std::vector<double> commands;  ///< from a request until its answer, also until a refusal
  size_t refused = 0;            ///< commands that were refused, or got no answer within 30 s
  size_t started = 0;            ///< instances that the clients started, by events and by commands
};

/// How long one measurement lasts.
struct MeasuredInterval {
  double seconds = 10;
  std::function<bool()> is_over;  ///< ends the interval earlier; empty: nothing does
};

class Victim {
 public:
  /// Applies the workflows to the namespace, which exists. Broker and server outlive the object.
  Victim(const Site& site, MillraceProcess& server, std::string ns);

  /// Keeps `in_flight` lifecycles in flight, and sends one command after the other, for one
  /// interval. Then waits for the lifecycles in flight, for a few seconds at most.
  VictimTimes measure(size_t in_flight, const MeasuredInterval& interval);

 private:
  const std::string broker_;
  const std::string url_;
  const std::string ns_;
  size_t runs_ = 0;
};

}  // namespace millrace
