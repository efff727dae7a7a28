#include "orchestrator/loop/continue_queue.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace millrace {
namespace {

/// Orders the inputs of a lane: those that no turn has taken come last.
uint64_t turn_of(const ContinueInput& input) {
  return input.since == 0 ? std::numeric_limits<uint64_t>::max() : input.since;
}

}  // namespace

std::vector<ContinueInput> ContinueQueue::next(std::vector<ContinueInput> inputs) {
  has_other_lanes_ = false;
  if (empty() && inputs.empty()) return {};
  for (const ContinueInput& one : inputs) put(one);
  const size_t lanes_of_each = std::max<size_t>(limits_.lanes / spaces_.size(), 1);
  const size_t of_each = std::max<size_t>(limits_.inputs / std::min(lanes_, limits_.lanes), 1);
  std::vector<ContinueInput> taken;
  for (auto space = spaces_.begin(); space != spaces_.end();) {
    take(space->second, lanes_of_each, of_each, taken);
    space = space->second.lanes.empty() ? spaces_.erase(space) : std::next(space);
  }
  return taken;
}

void ContinueQueue::clear() {
  spaces_.clear();
  size_ = 0;
  lanes_ = 0;
  has_other_lanes_ = false;
}

void ContinueQueue::put(const ContinueInput& input) {
  std::deque<ContinueInput>& lane = spaces_[input.ns].lanes[input.workflow];
  if (lane.empty()) ++lanes_;
  const bool is_last = lane.empty() || turn_of(lane.back()) <= turn_of(input);
  const auto is_before = [](const ContinueInput& one, const ContinueInput& other) {
    return turn_of(one) < turn_of(other);
  };
  lane.insert(is_last ? lane.end() : std::upper_bound(lane.begin(), lane.end(), input, is_before),
              input);
  ++size_;
}

/// Takes inputs of that many lanes of the namespace, beginning behind the lane that was the last.
void ContinueQueue::take(Space& space, size_t lanes, size_t of_each,
                         std::vector<ContinueInput>& taken) {
  has_other_lanes_ = has_other_lanes_ || space.lanes.size() > lanes;
  for (size_t left = std::min(lanes, space.lanes.size()); left > 0; --left) {
    auto lane = space.lanes.upper_bound(space.last);
    if (lane == space.lanes.end()) lane = space.lanes.begin();
    auto& [workflow, inputs] = *lane;
    space.last = workflow;
    const auto end = inputs.begin() + static_cast<ptrdiff_t>(std::min(of_each, inputs.size()));
    taken.insert(taken.end(), inputs.begin(), end);
    size_ -= static_cast<size_t>(end - inputs.begin());
    inputs.erase(inputs.begin(), end);
    if (!inputs.empty()) continue;
    --lanes_;
    space.lanes.erase(lane);
  }
}

}  // namespace millrace
