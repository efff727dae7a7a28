// WakeEvent: a descriptor that is readable while the event is set, to wake a thread that sleeps in
// poll().
#pragma once

#include <mutex>

#include "os/descriptor.h"

namespace millrace {

class WakeEvent {
 public:
  /// Sets the event. Any thread; never blocks.
  void set();
  /// Resets the event.
  void clear();

  /// The descriptor; it is readable at once if the event was set before. The first call that gets a
  /// descriptor from the system creates it; -1 if none is left.
  int fd();

 private:
  void make_readable() const;

  std::mutex mutex_;  // guards what follows
  Descriptor fd_;     ///< an eventfd
  bool is_set_ = false;
};

}  // namespace millrace
