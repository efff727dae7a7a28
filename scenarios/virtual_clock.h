// VirtualClock: time that goes on only when it is told to. One thread.
#pragma once

#include "base/time.h"
#include "orchestrator/ports/clock.h"

namespace millrace {

class VirtualClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  Duration elapsed() const override { return elapsed_; }

  void advance(Duration by) {
    now_ += by;
    elapsed_ += by;
  }
  /// Somebody sets the wall clock, backward perhaps.
  void jump(Duration by) { now_ += by; }

 private:
  TimePoint now_ = from_millis(1'630'497'600'000);  // 2021-09-01T12:00:00Z
  Duration elapsed_{0};
};

}  // namespace millrace
