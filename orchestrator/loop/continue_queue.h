// ContinueQueue: the instances that continue in later turns. A turn gets some of each lane, so that
// the cost of a turn does not grow with their number. Engine thread only.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <vector>

#include "model/work_lane.h"
#include "orchestrator/batch/input.h"

namespace millrace {

class ContinueQueue {
 public:
  /// About how many inputs a turn gets, and of how many lanes; at least one input of each
  /// namespace.
  struct Limits {
    size_t inputs = 512;
    size_t lanes = 256;
  };

  ContinueQueue() : ContinueQueue(Limits()) {}
  explicit ContinueQueue(Limits limits) : limits_(limits) {}

  /// Adds `inputs`, and returns the inputs for the next turn: of each lane those that came first.
  /// Inputs that an earlier turn has taken and left come before the others of their lane. The lanes
  /// of a namespace take turns if it has many.
  std::vector<ContinueInput> next(std::vector<ContinueInput> inputs);

  bool empty() const { return size_ == 0; }
  /// Whether the last call of next() left out some lanes.
  bool has_other_lanes() const { return has_other_lanes_; }
  void clear();

 private:
  struct Space {
    std::map<WorkflowNumber, std::deque<ContinueInput>> lanes;  ///< none is empty
    WorkflowNumber last{};  ///< the lane from which inputs were taken last
  };

  void put(const ContinueInput& input);
  void take(Space& space, size_t lanes, size_t of_each, std::vector<ContinueInput>& taken);

  Limits limits_;
  std::map<NamespaceNumber, Space> spaces_;
  size_t size_ = 0;
  size_t lanes_ = 0;
  bool has_other_lanes_ = false;
};

}  // namespace millrace
