// LiveCounts: how many instances of each workflow and of each namespace have not ended, and how
// many of a namespace wait for a slot or the throttle of their workflow. A cache of the heads,
// updated when instances start, get their slots and end. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "base/batch_notes.h"
#include "model/instance.h"

namespace millrace {

class LiveCounts {
 public:
  explicit LiveCounts(const BatchCount& batches) : added_(batches), added_queued_(batches) {}

  void clear() {
    counts_.clear();
    spaces_.clear();
    added_.take();
    queued_.clear();
    added_queued_.take();
  }

  void began(NamespaceNumber ns, WorkflowNumber workflow) { change({ns, workflow}, 1); }
  /// Counts the end of an instance. An instance whose rows were damaged at startup was not counted,
  /// so the end is ignored if the count is 0.
  void ended(NamespaceNumber ns, WorkflowNumber workflow) {
    if (any(workflow)) change({ns, workflow}, -1);
  }

  /// Counts a start that waits for a slot or a throttle.
  void queued(NamespaceNumber ns) { change_queued(ns, 1); }
  /// Counts that a start no longer waits; ignored if the count is 0, as the end of an instance is.
  void unqueued(NamespaceNumber ns) {
    if (queued_.contains(ns)) change_queued(ns, -1);
  }

  /// Undoes the changes of a batch that was lost.
  void undo() {
    for (const auto& [place, by] : added_.take()) add(place, -by);
    for (const auto& [ns, by] : added_queued_.take()) add(queued_, ns, -by);
  }

  bool any(WorkflowNumber workflow) const { return counts_.contains(workflow); }
  size_t count(WorkflowNumber workflow) const {
    const auto found = counts_.find(workflow);
    return found == counts_.end() ? 0 : found->second;
  }
  size_t count(NamespaceNumber ns) const {
    const auto found = spaces_.find(ns);
    return found == spaces_.end() ? 0 : found->second;
  }
  /// How many starts of the namespace wait.
  size_t count_queued(NamespaceNumber ns) const {
    const auto found = queued_.find(ns);
    return found == queued_.end() ? 0 : found->second;
  }
  /// Of all namespaces that have such starts.
  const std::map<NamespaceNumber, size_t>& queued_starts() const { return queued_; }

 private:
  using Place = std::pair<NamespaceNumber, WorkflowNumber>;

  void change(const Place& place, int64_t by) {
    if (auto* const added = added_.now()) (*added)[place] += by;
    add(place, by);
  }
  void change_queued(NamespaceNumber ns, int64_t by) {
    if (auto* const added = added_queued_.now()) (*added)[ns] += by;
    add(queued_, ns, by);
  }
  void add(const Place& place, int64_t by) {
    add(spaces_, place.first, by);
    add(counts_, place.second, by);
  }
  template <class Key>
  static void add(std::map<Key, size_t>& counts, Key key, int64_t by) {
    size_t& count = counts[key];
    count += static_cast<size_t>(by);
    if (count == 0) counts.erase(key);
  }

  std::map<WorkflowNumber, size_t> counts_;
  std::map<NamespaceNumber, size_t> spaces_;
  std::map<NamespaceNumber, size_t> queued_;
  BatchNotes<std::map<Place, int64_t>> added_;
  BatchNotes<std::map<NamespaceNumber, int64_t>> added_queued_;
};

}  // namespace millrace
