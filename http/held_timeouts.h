// HeldTimeouts: the timeouts of HTTP requests that wait while the client is not allowed to send.
// They pass only then: a request that waits for a connection has its whole timeout left. Pure; for
// one thread at a time. Private to http/.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/time.h"

namespace millrace {

class HeldTimeouts {
 public:
  using Ticket = uint64_t;
  using Time = std::chrono::steady_clock::time_point;

  /// A request begins to wait that has so much of its timeout left.
  void add(Ticket ticket, Duration left);
  /// The request does not wait any more. Returns what is left of its timeout, at least 1 ms;
  /// nullopt: it has none.
  std::optional<Duration> remove(Ticket ticket);

  /// The time is `now`, and the client is held back or not. The time since the previous call counts
  /// if it was held back then.
  void note(Time now, bool is_held);
  /// A request whose timeout has passed and that was not removed; nullopt: there is none.
  std::optional<Ticket> first_expired() const;

  bool empty() const { return due_.empty(); }

 private:
  Duration held_{0};           ///< how long the client was held back so far
  std::optional<Time> since_;  ///< the time that counts from here on; nullopt: it is not held back
  std::set<std::pair<Duration, Ticket>> due_;  ///< the value of held_ at which a timeout has passed
  std::unordered_map<Ticket, Duration> due_of_;
};

}  // namespace millrace
