// FixedRateLoad: sends the events of lifecycles (workflows.h, kLifecycle) at a fixed rate, whether
// or not millrace keeps up (an open loop). The time of a lifecycle counts from the time at which
// its wake event should have been sent, so a server, broker or client that is behind shows as
// longer times. The load uses one connection, and of each lifecycle it keeps eight bytes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/harness.h"
#include "bench/wire_client.h"

namespace millrace {

struct FixedRatePlan {
  std::string run = "rate";  ///< part of each key, as in lifecycle_key()
  double rate = 5'000;       ///< lifecycles a second
  /// Seconds from the event that starts an instance until the event that wakes it. About
  /// `rate * wait` instances wait at any time.
  double wait = 1;
};

/// What happened between two calls of FixedRateLoad::take().
struct RateInterval {
  /// The times of the lifecycles whose generated event arrived, in milliseconds.
  std::vector<double> each;
  /// Lifecycles whose wake event is due and whose generated event has not arrived, at the end.
  size_t behind = 0;

  /// The time below which the fraction `part` (0 to 1) of the times lies, in milliseconds; NaN if
  /// no generated event arrived.
  double time(double part) const;
};

/// The lifecycles of a load that has ended.
struct RateTotals {
  size_t sent = 0;     ///< lifecycles of which both events were sent
  size_t lost = 0;     ///< lifecycles without a generated event
  size_t doubled = 0;  ///< lifecycles with generated events under two ids
  /// Generated events that arrived again under the id of the first one: the broker drops these.
  size_t repeated = 0;

  bool exactly_once() const { return lost == 0 && doubled == 0; }
};

class FixedRateLoad {
 public:
  /// Begins to send to the broker at `url`.
  FixedRateLoad(const std::string& url, FixedRatePlan plan);
  /// Ends the load. Does not wait for generated events.
  ~FixedRateLoad();
  FixedRateLoad(const FixedRateLoad&) = delete;
  FixedRateLoad& operator=(const FixedRateLoad&) = delete;

  /// What happened since the previous call, or since the begin.
  RateInterval take();

  /// Starts no more instances and wakes those that were started. Returns when each of them has
  /// generated its event and two more seconds have passed, or when no event arrives for a minute.
  RateTotals finish();

 private:
  size_t due_by(double seconds) const;
  double due_at(size_t number) const;
  void send();
  void stop_sending();
  void hear(std::string_view event);

  const FixedRatePlan plan_;
  const std::string prefix_;  ///< of the keys
  const Stopwatch watch_;
  std::atomic<bool> ends_ = false;
  std::atomic<size_t> started_ = 0;
  std::atomic<size_t> woken_ = 0;

  std::mutex lock_;  // guards the members below, except the client and the thread
  std::condition_variable finished_;
  std::deque<uint64_t> ids_;  ///< by number: a hash of the id of the first generated event; or 0
  std::vector<double> took_;  ///< since take()
  size_t done_ = 0;
  size_t doubled_ = 0;
  size_t repeated_ = 0;

  WireClient client_;  // after the members above, because its thread uses them
  std::thread sender_;
};

}  // namespace millrace
