// StartedTasks: the tasks that a worker has started, for queries. The store records the start of a
// task only if a timeout counts from that start. Any thread.
#pragma once

#include <mutex>

#include <boost/unordered/unordered_flat_set.hpp>

#include "base/ids.h"

namespace millrace {

class StartedTasks {
 public:
  void add(const InstanceId& task) {
    const std::lock_guard lock(mutex_);
    tasks_.insert(task);
  }
  void remove(const InstanceId& task) {
    const std::lock_guard lock(mutex_);
    tasks_.erase(task);
  }
  bool contains(const InstanceId& task) const {
    const std::lock_guard lock(mutex_);
    return tasks_.contains(task);
  }

 private:
  mutable std::mutex mutex_;
  boost::unordered_flat_set<InstanceId, std::hash<InstanceId>> tasks_;
};

}  // namespace millrace
