#include "orchestrator/loop/due_timers.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace millrace {

bool is_tick(const TimerInput& timer) {
  return std::holds_alternative<TimerInput::OfSchedule>(timer.owner);
}

std::vector<TimerInput> DueTimers::take(TimePoint time, With with) {
  std::vector<TimerInput> due;
  waiting_.advance(time, due);
  if (with.held && !held_.empty()) {
    const auto end = std::find_if(held_.begin(), held_.end(),
                                  [&](const TimerInput& timer) { return timer.deadline > time; });
    due.insert(due.begin(), held_.begin(), end);
    released_.insert(released_.end(), held_.begin(), end);
    held_.erase(held_.begin(), end);
  }
  if (with.ticks) {
    due.insert(due.end(), std::make_move_iterator(ticks_.begin()),
               std::make_move_iterator(ticks_.end()));
    ticks_.clear();
  }
  return due;
}

void DueTimers::hold(TimerInput timer) {
  held_.push_back(std::move(timer));
  ++newly_held_;
}

bool DueTimers::has_tick_of(WorkflowNumber workflow) const {
  return std::any_of(ticks_.begin(), ticks_.end(), [&](const TimerInput& tick) {
    return std::get<TimerInput::OfSchedule>(tick.owner).workflow == workflow;
  });
}

void DueTimers::clear() {
  held_.clear();
  ticks_.clear();
  committed();
}

void DueTimers::committed() {
  released_.clear();
  newly_held_ = 0;
  ticks_before_ = ticks_;
}

void DueTimers::undo() {
  held_.erase(held_.end() - static_cast<ptrdiff_t>(newly_held_), held_.end());
  held_.insert(held_.begin(), released_.begin(), released_.end());
  ticks_ = ticks_before_;
  committed();
}

}  // namespace millrace
