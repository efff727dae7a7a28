// Permission: until when a part of the process may act, such as use a connection. Several threads
// ask a permission before they act, and another thread renews it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>

namespace millrace {

/// What two clocks of the system show. The steady clock stands still while the machine is
/// suspended; the clock `lasting` does not. Both run on while only the process is stopped.
struct ClockReading {
  std::chrono::steady_clock::time_point steady;        ///< read first
  std::chrono::nanoseconds lasting{0};                 ///< since the machine was booted
  std::chrono::steady_clock::time_point steady_after;  ///< read last
};

/// Reads std::chrono::steady_clock and CLOCK_BOOTTIME.
ClockReading read_clocks();

/// Times are given by the steady clock, which the callers have, and compared by the clock that
/// counts suspensions: a process that was suspended with its machine must not find its permission
/// valid. Any thread.
class Permission {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Clocks = std::function<ClockReading()>;

  /// Always valid if it is not guarded, whatever is called; otherwise not valid before
  /// allow_until().
  explicit Permission(bool is_guarded, Clocks clocks = read_clocks);

  /// Makes it valid until that time, which replaces the time of the previous call. `asked`: when
  /// the request was sent whose answer gives the permission; nullopt: now. If the machine may have
  /// been suspended since then, the call has no effect: `until` does not count the suspension.
  /// Returns whether the permission was not valid before, and is now.
  bool allow_until(Time until, std::optional<Time> asked = std::nullopt);

  /// Ends the permission.
  void forbid();

  bool is_valid() const;

 private:
  const bool is_guarded_;
  const Clocks clocks_;

  std::atomic<std::chrono::nanoseconds> until_{
      std::chrono::nanoseconds::min()};  ///< by the clock `lasting`

  std::mutex mutex_;  // guards the members below
  std::chrono::nanoseconds suspended_{
      0};                               ///< how much `lasting` was ahead at the last call, at least
  std::optional<Time> may_have_slept_;  ///< what was asked before may have been before a suspension
};

}  // namespace millrace
