// The part of TaskDispatch for tasks with a slot or a throttle (call_slot_rows.h).
#include "orchestrator/outgoing/task_dispatch.h"
#include "orchestrator/store/rows/task_rows.h"

namespace millrace {

void TaskDispatch::set_place(const InstanceId& task, const CallPlace& place,
                             const std::optional<TimePoint>& until) {
  auto* const found = tasks_.find(task);
  if (found == nullptr) return;
  note(task);
  count_awaiting(task, found->second, false);
  found->second.place = place;
  found->second.slot_until = until;
  count_awaiting(task, found->second, true);
}

void TaskDispatch::set_throttled(const InstanceId& task, const std::optional<CallPlace>& place,
                                 const std::optional<TimePoint>& until) {
  auto* const found = tasks_.find(task);
  if (found == nullptr || !found->second.throttle) return;
  note(task);
  count_awaiting(task, found->second, false);
  found->second.throttle->place = place;
  found->second.throttle->until = until;
  count_awaiting(task, found->second, true);
}

/// Adds a task to those that wait, or removes it.
void TaskDispatch::count_awaiting(const InstanceId& id, const OpenTask& task, bool is_added) {
  if (!task.awaits_turn()) return;
  if (const auto until = task.wait_end()) {
    const std::pair end{*until, id};
    if (is_added) {
      wait_ends_.insert(end);
    } else {
      wait_ends_.erase(end);
    }
  }
  size_t& count = awaiting_slots_[task.ns];
  count = is_added ? count + 1 : count - 1;
  if (count == 0) awaiting_slots_.erase(task.ns);
}

std::optional<TimePoint> TaskDispatch::next_wait_end() const {
  if (wait_ends_.empty()) return std::nullopt;
  return wait_ends_.begin()->first;
}

std::vector<InstanceId> TaskDispatch::ended_waits(TimePoint now, size_t most) const {
  std::vector<InstanceId> ended;
  for (const auto& [end, task] : wait_ends_) {
    if (end > now || ended.size() == most) break;
    ended.push_back(task);
  }
  return ended;
}

std::optional<OpenThrottle> TaskDispatch::open_throttle(const StartTask& task) {
  if (!task.throttle) return std::nullopt;
  return OpenThrottle{call_throttle_key_of(task)};
}

void TaskDispatch::clear_waits() {
  awaiting_slots_.clear();
  wait_ends_.clear();
}

/// What is known of a stored task, with its rows among those that wait. A task whose row for its
/// throttle is missing is handed out; the first error of the view is put into `status`.
OpenTask TaskDispatch::stored_summary(const View& view, const StartTask& task, Status& status) {
  OpenTask known = summary_of(task, stored_place(view, task, status));
  if (known.place) {
    const auto until = damages_.pass_over(read_slot_wait_end(view, task, *known.place));
    if (!until && status) status = tl::unexpected(until.error());
    known.slot_until = until.value_or(std::nullopt);
  }
  if (!task.throttle) return known;
  const auto found = damages_.pass_over(find_throttled_call(view, task));
  if (!found && status) status = tl::unexpected(found.error());
  if (!found || !*found) return known;
  known.throttle->place = (*found)->place;
  known.throttle->until = (*found)->record.until;
  return known;
}

/// The stored place of a task with a slot. A task whose row is missing is handed out without one;
/// the first error of the view is put into `status`.
std::optional<CallPlace> TaskDispatch::stored_place(const View& view, const StartTask& task,
                                                    Status& status) {
  if (!task.slot) return std::nullopt;
  const auto place = find_call_place(view, task);
  if (!place && status) status = tl::unexpected(place.error());
  if (!place) return std::nullopt;
  if (!*place) {
    damages_.note(damaged_task(task.task, "no row of `queues` has the slot of the task"));
  }
  return *place;
}

}  // namespace millrace
