#include "os/wake_event.h"

#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

namespace millrace {

void WakeEvent::set() {
  const std::lock_guard lock(mutex_);
  is_set_ = true;
  if (fd_) make_readable();
}

void WakeEvent::clear() {
  const std::lock_guard lock(mutex_);
  is_set_ = false;
  uint64_t ignored = 0;
  if (fd_) [[maybe_unused]]
    const ssize_t count = ::read(fd_.fd(), &ignored, sizeof ignored);
}

int WakeEvent::fd() {
  const std::lock_guard lock(mutex_);
  if (!fd_) {
    fd_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (fd_ && is_set_) make_readable();
  }
  return fd_.fd();
}

void WakeEvent::make_readable() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t count = ::write(fd_.fd(), &one, sizeof one);
}

}  // namespace millrace
