// Heartbeats: the time of each task's last heartbeat. There may be thousands a second, so
// heartbeats are not reported: when a heartbeat timer is due, the engine thread calls
// since_heartbeat(). Any thread.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/ids.h"
#include "base/time.h"

namespace millrace {

class Heartbeats {
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

  /// The time since the task's last heartbeat; nullopt: there was no heartbeat.
  std::optional<Duration> since_heartbeat(const InstanceId& task) const {
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
