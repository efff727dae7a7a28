// FailingLibrary: functions of nats.c that fail when a test sets a number. The linker prefers the
// functions of the test program over those of the library.
#pragma once

#include <atomic>

namespace millrace {

/// How many of the next calls of each function fail.
struct FailingLibrary {
  static inline std::atomic<int> natsSubscription_SetOnCompleteCB = 0;
};

}  // namespace millrace
