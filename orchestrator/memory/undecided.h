// Undecided: the instances and the starts for which the match of a kept event is undecided
// (matchers/match_budget.h). Until it is decided (orchestrator/batch/late_matches.h), they take no
// later event and no timer. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <boost/unordered/unordered_flat_set.hpp>

#include "base/ids.h"
#include "model/instance.h"

namespace millrace {

class Undecided {
 public:
  bool has(const InstanceId& instance) const {
    return !instances_.empty() && instances_.contains(instance);
  }
  /// Whether an event is undecided for the start of the workflow.
  bool has(WorkflowNumber workflow) const { return !starts_.empty() && starts_.contains(workflow); }
  bool has_starts() const { return !starts_.empty(); }
  /// The number of instances and of starts.
  size_t size() const { return instances_.size() + starts_.size(); }

  void add(const InstanceId& instance) { instances_.insert(instance); }
  void remove(const InstanceId& instance) { instances_.erase(instance); }
  /// Adds and removes one event that is undecided for the start of the workflow, or waits behind
  /// such an event.
  void add(WorkflowNumber workflow) { ++starts_[workflow]; }
  void remove(WorkflowNumber workflow) {
    const auto found = starts_.find(workflow);
    if (found != starts_.end() && --found->second == 0) starts_.erase(found);
  }
  /// Removes all instances and starts; the lifespans remain.
  void clear() {
    instances_.clear();
    starts_.clear();
  }

  /// Notes that the lifespan of an event in a group of the workflow has ended and waits, because an
  /// event that came before its end is undecided. `number`: of the event in the group. The notes
  /// are in memory only: a new process arms the timers of all lifespans.
  void defer_lifespan(WorkflowNumber workflow, uint64_t number) {
    lifespans_[workflow].insert(number);
  }
  /// Removes and returns the lifespans of the workflow that wait.
  std::set<uint64_t> take_lifespans(WorkflowNumber workflow) {
    auto found = lifespans_.extract(workflow);
    return found.empty() ? std::set<uint64_t>() : std::move(found.mapped());
  }

 private:
  boost::unordered_flat_set<InstanceId, std::hash<InstanceId>> instances_;
  std::map<WorkflowNumber, size_t> starts_;  ///< how many events wait for each start
  std::map<WorkflowNumber, std::set<uint64_t>> lifespans_;
};

}  // namespace millrace
