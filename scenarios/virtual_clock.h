// VirtualClock: a clock whose time changes only by calls of advance() and jump(). For use by one
// thread.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/time.h"
#include "orchestrator/ports/clock.h"

namespace millrace {

class VirtualClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  Duration elapsed() const override { return elapsed_; }
  std::chrono::nanoseconds precise() const override {
    worked_ += look_;
    return elapsed_ + worked_;
  }
  std::chrono::nanoseconds processor_time() const override {
    ++readings_;
    return elapsed_ + worked_ - waited_;
  }

  /// Advances the wall clock and the elapsed time.
  void advance(Duration by) {
    now_ += by;
    elapsed_ += by;
  }
  /// Sets the wall clock, possibly backward; the elapsed time does not change.
  void jump(Duration by) { now_ += by; }
  /// From now on each look at the precise time adds `by` to it, as if the work since the last look
  /// had taken so long.
  void let_looks_take(std::chrono::nanoseconds by) { look_ = by; }
  /// Lets the thread wait for a processor: the precise time advances, the processor time does not.
  void let_thread_wait(std::chrono::nanoseconds by) {
    worked_ += by;
    waited_ += by;
  }
  /// How often the processor time was read.
  size_t readings() const { return readings_; }

 private:
  TimePoint now_ = from_millis(1'630'497'600'000);  // 2021-09-01T12:00:00Z
  Duration elapsed_{0};
  std::chrono::nanoseconds look_{0};
  mutable std::chrono::nanoseconds worked_{0};
  std::chrono::nanoseconds waited_{0};
  mutable size_t readings_ = 0;
};

}  // namespace millrace
