// LiveCounts: how many instances of each workflow and of each namespace have not ended. A cache of
// the heads, updated when instances start and end. Engine thread only.
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
  explicit LiveCounts(const BatchCount& batches) : added_(batches) {}

  void clear() {
    counts_.clear();
    spaces_.clear();
    added_.take();
  }

  void began(NamespaceNumber ns, WorkflowNumber workflow) { change({ns, workflow}, 1); }
  /// Counts the end of an instance. An instance whose rows were damaged at startup was not counted,
  /// so the end is ignored if the count is 0.
  void ended(NamespaceNumber ns, WorkflowNumber workflow) {
    if (any(workflow)) change({ns, workflow}, -1);
  }

  /// Undoes the changes of a batch that was lost.
  void undo() {
    for (const auto& [place, by] : added_.take()) add(place, -by);
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

 private:
  using Place = std::pair<NamespaceNumber, WorkflowNumber>;

  void change(const Place& place, int64_t by) {
    if (auto* const added = added_.now()) (*added)[place] += by;
    add(place, by);
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
  BatchNotes<std::map<Place, int64_t>> added_;
};

}  // namespace millrace
