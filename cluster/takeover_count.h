// TakeoverCount: how many of the latest takeovers came without an `end`. An active that dies of an
// input would take one node after the other; from the second such takeover within ten minutes on,
// the next active applies its inputs carefully. Each `begin` carries the count, so a node knows it
// from the latest `begin` alone. Pure: the time is an argument. For one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>

namespace millrace {

class TakeoverCount {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// A takeover that is longer ago than this does not count.
  static constexpr std::chrono::minutes kWindow{10};
  /// From this count on, the new active is careful.
  static constexpr uint64_t kCareful = 2;

  /// `has_begin`: the log has a `begin`, as the folder of this node shows. Until saw_begin() it is
  /// taken for one with the count 0.
  explicit TakeoverCount(bool has_begin) : has_begin_(has_begin) {}

  /// The log has a `begin` with that count, which was stored at `at`.
  void saw_begin(uint64_t unclean, Time at);
  /// The log has an `end`.
  void saw_end() { has_ended_ = true; }

  /// What a `begin` has to say that follows now. The first one of a log counts as clean.
  uint64_t next(Time now) const;

 private:
  bool has_begin_;
  bool has_ended_ = false;  ///< the log has an `end` behind the latest `begin`
  uint64_t unclean_ = 0;    ///< what the latest `begin` says
  Time unclean_at_{};       ///< of the latest takeover that came without an `end`
};

}  // namespace millrace
