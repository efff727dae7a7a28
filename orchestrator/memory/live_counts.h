// LiveCounts: how many instances of each workflow have not ended. A cache of the heads, updated
// when instances start and end. Engine thread only.
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
    added_.take();
  }

  void began(WorkflowNumber workflow) { change(workflow, 1); }
  /// Counts the end of an instance. An instance whose rows were damaged at startup was not counted,
  /// so the end is ignored if the count is 0.
  void ended(WorkflowNumber workflow) {
    if (any(workflow)) change(workflow, -1);
  }

  /// Undoes the changes of a batch that was lost.
  void undo() {
    for (const auto& [workflow, by] : added_.take()) add(workflow, -by);
  }

  bool any(WorkflowNumber workflow) const { return counts_.contains(workflow); }
  size_t count(WorkflowNumber workflow) const {
    const auto found = counts_.find(workflow);
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  void change(WorkflowNumber workflow, int64_t by) {
    if (auto* const added = added_.now()) (*added)[workflow] += by;
    add(workflow, by);
  }
  void add(WorkflowNumber workflow, int64_t by) {
    size_t& count = counts_[workflow];
    count += static_cast<size_t>(by);
    if (count == 0) counts_.erase(workflow);
  }

  std::map<WorkflowNumber, size_t> counts_;
  BatchNotes<std::map<WorkflowNumber, int64_t>> added_;
};

}  // namespace millrace
