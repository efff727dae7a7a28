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
    if (Changes* const changes = changes_.now()) {
      changes->released.insert(changes->released.end(), held_.begin(), end);
    }
    held_.erase(held_.begin(), end);
  }
  if (with.ticks && !ticks_.empty()) {
    note_ticks();
    due.insert(due.end(), std::make_move_iterator(ticks_.begin()),
               std::make_move_iterator(ticks_.end()));
    ticks_.clear();
  }
  return due;
}

void DueTimers::hold(TimerInput timer) {
  held_.push_back(timer);
  if (Changes* const changes = changes_.now()) ++changes->newly_held;
}

void DueTimers::put_back_tick(TimerInput tick) {
  note_ticks();
  ticks_.push_back(tick);
}

/// To be called before the current batch changes `ticks_`: keeps the old value for undo().
void DueTimers::note_ticks() {
  Changes* const changes = changes_.now();
  if (changes != nullptr && !changes->ticks) changes->ticks = ticks_;
}

bool DueTimers::has_tick_of(WorkflowNumber workflow) const {
  return std::any_of(ticks_.begin(), ticks_.end(), [&](const TimerInput& tick) {
    return std::get<TimerInput::OfSchedule>(tick.owner).workflow == workflow;
  });
}

void DueTimers::clear() {
  held_.clear();
  ticks_.clear();
  changes_.take();
}

void DueTimers::undo() {
  Changes changes = changes_.take();
  held_.erase(held_.end() - static_cast<ptrdiff_t>(changes.newly_held), held_.end());
  held_.insert(held_.begin(), changes.released.begin(), changes.released.end());
  if (changes.ticks) ticks_ = *std::move(changes.ticks);
}

}  // namespace millrace
