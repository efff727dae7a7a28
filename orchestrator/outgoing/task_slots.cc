// The part of TaskDispatch for tasks with a slot (call_slot_rows.h).
#include "orchestrator/outgoing/task_dispatch.h"
#include "orchestrator/store/rows/task_rows.h"

namespace millrace {

void TaskDispatch::set_place(const InstanceId& task, const CallPlace& place) {
  auto* const found = tasks_.find(task);
  if (found == nullptr) return;
  note(task);
  count_awaiting(found->second, -1);
  found->second.place = place;
  count_awaiting(found->second, 1);
}

void TaskDispatch::count_awaiting(const OpenTask& task, int64_t by) {
  if (!task.awaits_slot()) return;
  size_t& count = awaiting_slots_[task.ns];
  count += static_cast<size_t>(by);
  if (count == 0) awaiting_slots_.erase(task.ns);
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
