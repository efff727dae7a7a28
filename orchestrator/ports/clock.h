// Clock: the port to time. The server uses the system's clock; tests and scenarios use a virtual
// one.
#pragma once

#include <chrono>
#include <ctime>

#include "base/time.h"

namespace millrace {

/// The wall clock for workflows, and a steady clock for waits and retries.
class Clock {
 public:
  virtual ~Clock() = default;

  /// The wall clock. Engine time is never less than at the last commit, even if the wall clock goes
  /// back.
  virtual TimePoint now() const = 0;

  /// A steady clock with an arbitrary origin; changes of the wall clock do not affect it.
  virtual Duration elapsed() const {
    return std::chrono::duration_cast<Duration>(
        std::chrono::steady_clock::now().time_since_epoch());
  }

  /// The time of elapsed(), for measurements shorter than a millisecond.
  virtual std::chrono::nanoseconds precise() const { return elapsed(); }

  /// The processor time of the calling thread, with an arbitrary origin. A system call, so to be
  /// read seldom. By default that of precise(): the thread never waits for a processor.
  virtual std::chrono::nanoseconds processor_time() const { return precise(); }
};

/// The clock of the operating system. Any thread.
class SystemClock final : public Clock {
 public:
  TimePoint now() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  }
  std::chrono::nanoseconds precise() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
  std::chrono::nanoseconds processor_time() const override {
    std::timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }
};

}  // namespace millrace
