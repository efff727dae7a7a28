// Calls of nats.c that fail when a test wants it: the test program's own functions of these names
// come before the library's.
#pragma once

#include <atomic>

namespace millrace {

/// How many of the next calls fail.
struct FailingLibrary {
  static inline std::atomic<int> natsInbox_Create = 0;
  static inline std::atomic<int> natsSubscription_SetOnCompleteCB = 0;
};

}  // namespace millrace
