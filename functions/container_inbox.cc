#include "functions/container_inbox.h"

#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

namespace millrace {

int ContainerInbox::fd() {
  const std::lock_guard lock(mutex_);
  if (!wake_) {
    wake_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (is_closed_ || !messages_.empty()) wake();
  }
  return wake_.fd();
}

void ContainerInbox::put(ContainerMessage message) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return;
  messages_.push_back(std::move(message));
  wake();
}

void ContainerInbox::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  wake();
}

std::optional<std::vector<ContainerMessage>> ContainerInbox::take() {
  const std::lock_guard lock(mutex_);
  uint64_t ignored = 0;
  [[maybe_unused]] const ssize_t count = ::read(wake_.fd(), &ignored, sizeof ignored);
  if (is_closed_) return std::nullopt;
  return std::exchange(messages_, {});
}

void ContainerInbox::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t count = ::write(wake_.fd(), &one, sizeof one);
}

}  // namespace millrace
