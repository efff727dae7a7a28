// Why a program has to end though nobody asked it to: told on any thread, it wakes the one that
// waits for signals.
#pragma once

#include <csignal>
#include <mutex>
#include <optional>
#include <utility>

#include <unistd.h>

#include "base/result.h"

namespace millrace {

/// It outlives what sets it.
class EndReason {
 public:
  /// The first one stays. Ends the program as SIGTERM does.
  void set(Error why) {
    {
      const std::lock_guard lock(mutex_);
      if (why_) return;
      why_ = std::move(why);
    }
    ::kill(::getpid(), SIGTERM);
  }

  /// Ok where there is none.
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
