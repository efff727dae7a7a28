// SignsOfLife: when each task last gave a sign of life. There may be thousands of them a second, so
// none is reported: the owner of the timer asks when it is due. Any thread.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/ids.h"
#include "base/time.h"

namespace millrace {

class SignsOfLife {
 public:
  void heard(const InstanceId& task) {
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    last_[task] = now;
  }

  void forget(const InstanceId& task) {
    const std::lock_guard lock(mutex_);
    last_.erase(task);
  }

  /// How long nothing was heard of it; nullopt: nothing ever was.
  std::optional<Duration> silence(const InstanceId& task) const {
    const std::lock_guard lock(mutex_);
    const auto found = last_.find(task);
    if (found == last_.end()) return std::nullopt;
    return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - found->second);
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<InstanceId, std::chrono::steady_clock::time_point> last_;
};

}  // namespace millrace
