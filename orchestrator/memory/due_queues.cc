#include "orchestrator/memory/due_queues.h"

#include <variant>

namespace millrace {

void DueQueues::put(const TimerInput& timer) {
  const auto* const owner = std::get_if<TimerInput::OfInstance>(&timer.owner);
  queues_[owner == nullptr ? NamespaceNumber(0) : owner->ns].push_back(timer);
}

void DueQueues::take(TimePoint time, std::vector<TimerInput>& due, size_t most) {
  size_t passed = 0;  // how many queues in succession had no timer that may be taken
  while (most > 0 && passed < queues_.size()) {
    auto next = queues_.upper_bound(last_);
    if (next == queues_.end()) next = queues_.begin();
    last_ = next->first;
    std::deque<TimerInput>& queue = next->second;
    if (queue.front().deadline > time) {
      ++passed;
      continue;
    }
    passed = 0;
    due.push_back(queue.front());
    queue.pop_front();
    if (queue.empty()) queues_.erase(next);
    --most;
  }
}

std::optional<TimePoint> DueQueues::next() const {
  std::optional<TimePoint> earliest;
  for (const auto& [ns, queue] : queues_) {
    const TimePoint first = queue.front().deadline;
    if (!earliest || first < *earliest) earliest = first;
  }
  return earliest;
}

}  // namespace millrace
