#include "orchestrator/memory/due_queues.h"

#include <variant>

namespace millrace {
namespace {

/// The element behind the one with that key; behind the last one comes the first one.
template <class Map>
typename Map::iterator next_in_turn(Map& map, const typename Map::key_type& last) {
  const auto next = map.upper_bound(last);
  return next == map.end() ? map.begin() : next;
}

}  // namespace

void DueQueues::put(const TimerInput& timer) {
  WorkLane lane;
  if (const auto* const owner = std::get_if<TimerInput::OfInstance>(&timer.owner)) {
    lane = {owner->ns, owner->workflow};
  }
  std::deque<TimerInput>& queue = spaces_[lane.ns].queues[lane.workflow];
  if (queue.empty()) firsts_.emplace(timer.deadline, lane);
  queue.push_back(timer);
}

void DueQueues::take(TimePoint time, std::vector<TimerInput>& due, size_t most) {
  while (most > 0 && !firsts_.empty() && firsts_.begin()->first <= time) {
    const auto space = next_in_turn(spaces_, last_);
    last_ = space->first;
    const std::optional<TimerInput> timer = take_first(space->first, space->second, time);
    if (!timer) continue;
    due.push_back(*timer);
    --most;
    if (space->second.queues.empty()) spaces_.erase(space);
  }
}

/// Takes the first timer of the next queue of the namespace that has one with a deadline up to
/// `time`; nullopt: none has.
std::optional<TimerInput> DueQueues::take_first(NamespaceNumber ns, Space& space, TimePoint time) {
  for (size_t left = space.queues.size(); left > 0; --left) {
    const auto next = next_in_turn(space.queues, space.last);
    space.last = next->first;
    std::deque<TimerInput>& queue = next->second;
    const TimerInput timer = queue.front();
    if (timer.deadline > time) continue;
    const WorkLane lane{ns, next->first};
    firsts_.erase({timer.deadline, lane});
    queue.pop_front();
    if (queue.empty()) {
      space.queues.erase(next);
    } else {
      firsts_.emplace(queue.front().deadline, lane);
    }
    return timer;
  }
  return std::nullopt;
}

std::optional<TimePoint> DueQueues::next() const {
  if (firsts_.empty()) return std::nullopt;
  return firsts_.begin()->first;
}

}  // namespace millrace
