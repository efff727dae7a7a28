// Living: how many instances of each workflow have not ended. A cache of the heads, kept in step
// where instances begin and end. Engine thread only.
#pragma once

#include <cstddef>
#include <map>

#include "model/instance.h"

namespace millrace {

class Living {
 public:
  void clear() { counts_.clear(); }

  void began(WorkflowNumber workflow) { ++counts_[workflow]; }
  void ended(WorkflowNumber workflow) {
    const auto found = counts_.find(workflow);
    if (--found->second == 0) counts_.erase(found);
  }

  bool any(WorkflowNumber workflow) const { return counts_.contains(workflow); }
  size_t count(WorkflowNumber workflow) const {
    const auto found = counts_.find(workflow);
    return found == counts_.end() ? 0 : found->second;
  }

 private:
  std::map<WorkflowNumber, size_t> counts_;
};

}  // namespace millrace
