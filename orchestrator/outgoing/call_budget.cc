#include "orchestrator/outgoing/call_budget.h"

#include <algorithm>

namespace millrace {
namespace {

/// How many held tasks of one namespace are released together.
constexpr size_t kReleasedTogether = 64;

}  // namespace

bool CallBudget::is_below(const Space& space) const {
  return space.tasks < limits_.tasks && space.bytes < limits_.bytes;
}

bool CallBudget::has_room(NamespaceNumber ns, const InstanceId& task) const {
  const auto found = spaces_.find(ns);
  if (found == spaces_.end()) return true;
  const Space& space = found->second;
  return is_below(space) && (space.held.empty() || task < *space.held.begin());
}

void CallBudget::forget_if_empty(Spaces::iterator space) {
  if (space->second.tasks == 0 && space->second.held.empty()) spaces_.erase(space);
}

void CallBudget::hand_out(const InstanceId& task, NamespaceNumber ns, uint64_t bytes) {
  if (!handed_out_.emplace(task, HandedOut{.ns = ns, .bytes = bytes}).second) return;
  Space& space = spaces_[ns];
  ++space.tasks;
  space.bytes += bytes;
}

void CallBudget::hold(const InstanceId& task, NamespaceNumber ns) {
  if (held_.emplace(task, ns).second) spaces_[ns].held.insert(task);
}

void CallBudget::end(const InstanceId& task) {
  if (const auto found = handed_out_.find(task); found != handed_out_.end()) {
    const auto space = spaces_.find(found->second.ns);
    --space->second.tasks;
    space->second.bytes -= found->second.bytes;
    handed_out_.erase(found);
    forget_if_empty(space);
  }
  if (const auto found = held_.find(task); found != held_.end()) {
    const auto space = spaces_.find(found->second);
    space->second.held.erase(task);
    held_.erase(found);
    forget_if_empty(space);
  }
}

void CallBudget::clear_held() {
  held_.clear();
  for (auto space = spaces_.begin(); space != spaces_.end();) {
    space->second.held.clear();
    forget_if_empty(space++);
  }
}

bool CallBudget::has_releasable() const {
  if (held_.empty()) return false;
  return std::any_of(spaces_.begin(), spaces_.end(), [&](const auto& one) {
    return !one.second.held.empty() && is_below(one.second);
  });
}

std::vector<InstanceId> CallBudget::release() {
  std::vector<InstanceId> released;
  for (auto& [ns, space] : spaces_) {
    if (!is_below(space)) continue;
    size_t most = std::min(kReleasedTogether, limits_.tasks - space.tasks);
    for (; most > 0 && !space.held.empty(); --most) {
      released.push_back(*space.held.begin());
      held_.erase(*space.held.begin());
      space.held.erase(space.held.begin());
    }
  }
  std::erase_if(spaces_,
                [](const auto& one) { return one.second.tasks == 0 && one.second.held.empty(); });
  return released;
}

}  // namespace millrace
