// WakeEvent: a descriptor that is readable once the event is set, for a thread that sleeps in
// poll().
#pragma once

#include <mutex>

#include "os/descriptor.h"

namespace millrace {

class WakeEvent {
 public:
  /// Any thread; never blocks.
  void set();
  /// The event is not set any more.
  void clear();

  /// The descriptor, made by the first call that can have one: an event that was set before counts.
  /// -1 where no descriptor is left.
  int fd();

 private:
  void make_readable() const;

  std::mutex mutex_;  // guards what follows
  Descriptor fd_;     ///< an eventfd
  bool is_set_ = false;
};

}  // namespace millrace
