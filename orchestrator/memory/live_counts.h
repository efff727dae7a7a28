// Living: how many instances of each workflow have not ended. A cache of the heads, kept in step
// where instances begin and end. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "model/instance.h"

namespace millrace {

class Living {
 public:
  void clear() {
    counts_.clear();
    batch_.clear();
  }

  void began(WorkflowNumber workflow) { change(workflow, 1); }
  /// An instance whose rows were damaged at the start was not counted.
  void ended(WorkflowNumber workflow) {
    if (any(workflow)) change(workflow, -1);
  }

  /// The batch in hand is on disk, or it is lost.
  void committed() { batch_.clear(); }
  void undo() {
    for (const auto& [workflow, by] : std::exchange(batch_, {})) add(workflow, -by);
  }

  bool any(WorkflowNumber workflow) const { return counts_.contains(workflow); }
  size_t count(WorkflowNumber workflow) const {
    const auto found = counts_.find(workflow);
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  void change(WorkflowNumber workflow, int64_t by) {
    batch_[workflow] += by;
    add(workflow, by);
  }
  void add(WorkflowNumber workflow, int64_t by) {
    size_t& count = counts_[workflow];
    count += static_cast<size_t>(by);
    if (count == 0) counts_.erase(workflow);
  }

  std::map<WorkflowNumber, size_t> counts_;
  std::map<WorkflowNumber, int64_t> batch_;  ///< what it has added
};

}  // namespace millrace
