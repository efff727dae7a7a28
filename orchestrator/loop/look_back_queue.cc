#include "orchestrator/loop/look_back_queue.h"

#include <utility>

namespace millrace {

bool LookBackQueue::ask(LookBack asked, std::function<void(EarlyEvents)> done) {
  const bool was_released = released_.erase(asked.instance) > 0;
  const bool is_behind = !was_released && !(added_.empty() && queue_.empty());
  if (is_behind || *searching_ >= most_) {
    added_.push_back({.ns = asked.ns, .instance = asked.instance, .workflow = asked.workflow});
    return false;
  }
  ++*searching_;
  find_(std::move(asked), [searching = searching_, done = std::move(done)](EarlyEvents found) {
    --*searching;  // before the result, whose batch then releases others
    done(std::move(found));
  });
  return true;
}

void LookBackQueue::release(std::vector<ContinueInput>& continues) {
  if (added_.empty() && queue_.empty()) return;
  const size_t searching = *searching_;
  // Some that were released never ask, because they have ended.
  if (searching == 0) released_.clear();
  if (searching + released_.size() > most_ / 2) return;
  const std::vector<ContinueInput> some = queue_.next(std::exchange(added_, {}));
  for (const ContinueInput& one : some) released_.insert(one.instance);
  continues.insert(continues.end(), some.begin(), some.end());
}

void LookBackQueue::clear() {
  added_.clear();
  queue_.clear();
  released_.clear();
}

}  // namespace millrace
