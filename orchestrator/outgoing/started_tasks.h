// StartedTasks: the tasks that a worker has started, and how many tasks of each namespace have not
// ended, for queries. The store records the start of a task only if a timeout counts from that
// start. Any thread.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include <boost/unordered/unordered_flat_set.hpp>

#include "base/ids.h"
#include "base/sharded_table.h"
#include "model/instance.h"
#include "orchestrator/outgoing/service_figures.h"

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

  /// The figures of the services that the tasks are for.
  ServiceFigures& services() { return services_; }
  const ServiceFigures& services() const { return services_; }

  // The tasks of a namespace that have not ended.

  void began(NamespaceNumber ns) {
    const std::lock_guard lock(mutex_);
    ++open_[ns];
  }
  void ended(NamespaceNumber ns) {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(ns);
    if (found != open_.end() && --found->second == 0) open_.erase(found);
  }
  /// Sets the numbers of all namespaces to 0.
  void count_again() {
    const std::lock_guard lock(mutex_);
    open_.clear();
  }
  size_t open(NamespaceNumber ns) const {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(ns);
    return found == open_.end() ? 0 : found->second;
  }

 private:
  mutable std::mutex mutex_;
  ShardedTable<boost::unordered_flat_set<InstanceId, std::hash<InstanceId>>> tasks_;
  std::map<NamespaceNumber, size_t> open_;
  ServiceFigures services_;
};

}  // namespace millrace
