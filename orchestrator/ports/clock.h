// Clock: the port to time. The program has the system's clock, tests and scenarios have a virtual
// one.
#pragma once

#include <chrono>

#include "base/time.h"

namespace millrace {

/// The time of workflows, and the time that waits and retries are counted in.
class Clock {
 public:
  virtual ~Clock() = default;

  /// The wall clock. Engine time is never less than the last committed one, whatever this says.
  virtual TimePoint now() const = 0;

  /// Time since some moment, which goes on evenly whatever is done to the wall clock.
  virtual Duration elapsed() const {
    return std::chrono::duration_cast<Duration>(
        std::chrono::steady_clock::now().time_since_epoch());
  }
};

/// The clock of the operating system. Any thread.
class SystemClock final : public Clock {
 public:
  TimePoint now() const override {
    return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  }
};

}  // namespace millrace
