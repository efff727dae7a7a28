// VirtualClock: a clock whose time changes only by calls of advance() and jump(). For use by one
// thread.
#pragma once

#include "base/time.h"
#include "orchestrator/ports/clock.h"

namespace millrace {

class VirtualClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  Duration elapsed() const override { return elapsed_; }

  /// Advances the wall clock and the elapsed time.
  void advance(Duration by) {
    now_ += by;
    elapsed_ += by;
  }
  /// Sets the wall clock, possibly backward; the elapsed time does not change.
  void jump(Duration by) { now_ += by; }

 private:
  TimePoint now_ = from_millis(1'630'497'600'000);  // 2021-09-01T12:00:00Z
  Duration elapsed_{0};
};

}  // namespace millrace
