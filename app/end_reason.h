// EndReason: the error that forces the program to end without a signal from outside. Any thread may
// set the error, which wakes the thread that waits for signals.
#pragma once

#include <csignal>
#include <mutex>
#include <optional>
#include <utility>

#include <unistd.h>

#include "base/result.h"

namespace millrace {

/// An EndReason must outlive all code that calls set().
class EndReason {
 public:
  /// Sets the error, unless one is set already, and ends the program as SIGTERM does.
  void set(Error why) {
    {
      const std::lock_guard lock(mutex_);
      if (why_) return;
      why_ = std::move(why);
    }
    ::kill(::getpid(), SIGTERM);
  }

  /// The error that was set; ok if no error was set.
  Status status() const {
    const std::lock_guard lock(mutex_);
    if (why_) return tl::unexpected(*why_);
    return {};
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Error> why_;
};

}  // namespace millrace
