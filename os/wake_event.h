// WakeEvent: a flag, and a descriptor that is readable while the flag is set, to wake a thread that
// sleeps in poll().
#pragma once

#include <mutex>

#include "os/descriptor.h"

namespace millrace {

class WakeEvent {
 public:
  /// Sets the flag. Any thread; never blocks.
  void set();
  /// Clears the flag.
  void clear();

  /// The descriptor, which is readable at once if the flag is set. The first call creates it; -1 if
  /// the system has no descriptor left, and then the next call tries again.
  int fd();

 private:
  void make_readable() const;

  std::mutex mutex_;  // guards the members below
  Descriptor fd_;     ///< an eventfd
  bool is_set_ = false;
};

}  // namespace millrace
