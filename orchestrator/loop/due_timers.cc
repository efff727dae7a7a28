#include "orchestrator/loop/due_timers.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace millrace {

bool is_tick(const TimerInput& timer) {
  return std::holds_alternative<TimerInput::OfSchedule>(timer.owner);
}

std::vector<TimerInput> DueTimers::take(TimePoint time, With with, size_t most) {
  std::vector<TimerInput> due;
  if (!unfired_.empty()) take_unfired(time, with.held, due, most);
  if (with.held) release(time, due, most);
  const bool has_held = with.held && !held_.empty() && held_.front().deadline <= time;
  const bool is_done = waiting_.advance(time, due, most - due.size());
  if (with.ticks && !ticks_.empty() && due.size() < most) {
    note_ticks();
    const auto taken = static_cast<ptrdiff_t>(std::min(most - due.size(), ticks_.size()));
    due.insert(due.end(), ticks_.begin(), ticks_.begin() + taken);
    ticks_.erase(ticks_.begin(), ticks_.begin() + taken);
  }
  has_left_ = has_held || !is_done || (with.ticks && !ticks_.empty());
  return due;
}

/// Moves timers that were not fired, with a deadline up to `time`, to `due`, at most `most`;
/// `with_held`: held timers with an earlier deadline come before each of them, because they may be
/// timers of the same instance.
void DueTimers::take_unfired(TimePoint time, bool with_held, std::vector<TimerInput>& due,
                             size_t most) {
  note_unfired();
  std::vector<TimerInput> left;
  for (TimerInput& timer : unfired_) {
    if (with_held) release(std::min(timer.deadline, time), due, most);
    const bool is_taken = due.size() < most && timer.deadline <= time;
    (is_taken ? due : left).push_back(std::move(timer));
  }
  unfired_ = std::move(left);
}

/// Moves held timers with a deadline up to `time` to `due`, at most `most`.
void DueTimers::release(TimePoint time, std::vector<TimerInput>& due, size_t most) {
  Changes* const changes = changes_.now();
  for (; due.size() < most && !held_.empty() && held_.front().deadline <= time; held_.pop_front()) {
    due.push_back(held_.front());
    if (changes == nullptr) continue;
    // A timer that this batch has held comes back with the undo of the wait index.
    if (changes->newly_held == held_.size()) {
      --changes->newly_held;
    } else {
      changes->released.push_back(held_.front());
    }
  }
}

void DueTimers::hold(TimerInput timer) {
  held_.push_back(timer);
  if (Changes* const changes = changes_.now()) ++changes->newly_held;
}

void DueTimers::put_back_tick(TimerInput tick) {
  note_ticks();
  ticks_.push_back(tick);
}

void DueTimers::put_back(std::vector<TimerInput> timers) {
  if (timers.empty()) return;
  note_unfired();
  unfired_.insert(unfired_.begin(), std::make_move_iterator(timers.begin()),
                  std::make_move_iterator(timers.end()));
}

/// To be called before the current batch changes `unfired_`: keeps the old value for undo().
void DueTimers::note_unfired() {
  Changes* const changes = changes_.now();
  if (changes != nullptr && !changes->unfired) changes->unfired = unfired_;
}

/// To be called before the current batch changes `ticks_`: keeps the old value for undo().
void DueTimers::note_ticks() {
  Changes* const changes = changes_.now();
  if (changes != nullptr && !changes->ticks) changes->ticks = ticks_;
}

bool DueTimers::has_tick_of(WorkflowNumber workflow) const {
  const auto is_of = [&](const TimerInput& timer) {
    const auto* const tick = std::get_if<TimerInput::OfSchedule>(&timer.owner);
    return tick != nullptr && tick->workflow == workflow;
  };
  return std::any_of(ticks_.begin(), ticks_.end(), is_of) ||
         std::any_of(unfired_.begin(), unfired_.end(), is_of);
}

void DueTimers::clear() {
  held_.clear();
  ticks_.clear();
  unfired_.clear();
  changes_.take();
}

void DueTimers::undo() {
  Changes changes = changes_.take();
  held_.erase(held_.end() - static_cast<ptrdiff_t>(changes.newly_held), held_.end());
  held_.insert(held_.begin(), changes.released.begin(), changes.released.end());
  if (changes.ticks) ticks_ = *std::move(changes.ticks);
  if (changes.unfired) unfired_ = *std::move(changes.unfired);
}

}  // namespace millrace
