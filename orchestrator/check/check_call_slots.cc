// Checks of the rows of calls in the table `queues`: each row of a task with that task, and the
// counts of each key with its rows.
#include <optional>

#include <fmt/format.h>

#include "orchestrator/check/call_slot_sums.h"
#include "orchestrator/check/checker.h"
#include "orchestrator/store/rows/task_rows.h"

namespace millrace {
namespace {

/// The inconsistency between a row of a throttle and its task; nullptr: there is none.
const char* wrong_throttled_task(const CallRowKey& row, const CallPlaceRecord& record,
                                 const StartTask& task) {
  if (!task.throttle) return "its task has no throttle";
  if (call_throttle_key_of(task) != row.key) return "its task waits for another key of a throttle";
  const TaskThrottle& throttle = *task.throttle;
  if (throttle.number != row.place.number) return "its task has another row";
  if (throttle.rate.limit != record.limit) return "its task has another limit";
  if (throttle.rate.period != record.period) return "its task has another period";
  const bool waits = row.kind == QueueRow::kCallThrottled;
  if (waits && throttle.priority != row.place.priority) return "its task has another priority";
  std::optional<TimePoint> until;
  if (waits && throttle.timeout) until = throttle.timeout->after(record.since);
  if (record.until != until) return "its wait ends at another time";
  return nullptr;
}

/// The inconsistency between a row and its task; nullptr: there is none.
const char* wrong_task(const CallRowKey& row, const CallPlaceRecord& record,
                       const StartTask& task) {
  if (record.period.has_value() != row.key.is_throttle) return "it is a row of another kind";
  if (row.key.is_throttle) return wrong_throttled_task(row, record, task);
  if (!task.slot) return "its task needs no slot";
  if (call_slot_key_of(task) != row.key) return "its task has a slot of another key";
  if (task.slot->number != row.place.number) return "its task has another row";
  if (task.slot->limit != record.limit) return "its task has another limit";
  if (row.kind == QueueRow::kCallWaiting && task.slot->priority != row.place.priority) {
    return "its task has another priority";
  }
  return nullptr;
}

}  // namespace

void Checker::check_call_row(const Place& place, std::string_view value, CallSlotSums& sums) {
  const auto row = parse_call_row_key(place.key);
  if (row && row->key.is_throttle) {
    note_minor(kMinorOfCallThrottles, "rows of calls that wait for a throttle");
  } else {
    note_minor(kMinorOfCallSlots, "rows of slots of calls");
  }
  if (!row) {
    add(StoreFault::kRowKey, place, "the key is not that of counts, a slot or a wait of a call");
    return;
  }
  if (!check_namespace(row->key.ns, place)) return;
  const bool has_counts =
      row->kind == QueueRow::kCallCounts || row->kind == QueueRow::kCallThrottleCounts;
  if (has_counts) return check_call_counts(place, value, *row, sums);
  check_call_place(place, value, *row, sums);
}

void Checker::check_call_sums(const CallSlotSums& sums) {
  for (const auto& [key, counted] : sums.counted) {
    const auto rows_of_key = sums.found.find(key);
    const auto found = rows_of_key == sums.found.end() ? CallSlotSums::Sum() : rows_of_key->second;
    if (found == counted) continue;
    const std::string at = call_counts_key(key);
    add(StoreFault::kQueueCounts, {Table::kQueues, at},
        fmt::format("the row counts {} calls with a slot, {} that wait and {} of paused instances, "
                    "but {}, {} and {} rows exist",
                    counted.held, counted.queued, counted.paused, found.held, found.queued,
                    found.paused));
  }
  for (const auto& [key, found] : sums.found) {
    if (sums.counted.contains(key) || sums.unreadable.contains(key)) continue;
    const std::string at = call_counts_key(key);
    add(StoreFault::kQueueCounts, {Table::kQueues, at},
        fmt::format("the row is missing, but {} calls have a slot of the key, {} wait for one, and "
                    "{} are of paused instances",
                    found.held, found.queued, found.paused));
  }
}

void Checker::check_call_counts(const Place& place, std::string_view value, const CallRowKey& row,
                                CallSlotSums& sums) {
  const auto counts = open_and_decode(place, value, decode_call_slot_counts);
  if (!counts) {
    sums.unreadable.insert(row.key);
    return;
  }
  CallSlotKey right = call_slot_key_of(row.key.ns, counts->service, counts->key);
  right.is_throttle = row.key.is_throttle;
  if (right != row.key) {
    add(StoreFault::kQueueCounts, place, "the row has the value of another key");
  }
  sums.counted[row.key] = {
      .held = counts->held, .queued = counts->queued, .paused = counts->paused};
}

void Checker::check_call_place(const Place& place, std::string_view value, const CallRowKey& row,
                               CallSlotSums& sums) {
  CallSlotSums::Sum& sum = sums.found[row.key];
  const bool waits = row.kind == waiting_kind(row.key);
  ++(row.kind == QueueRow::kCallHolder ? sum.held : waits ? sum.queued : sum.paused);
  note_given(Counter::kSlots, row.place.number, place);
  const auto found = decode(place, value, decode_call_place);
  if (!found) return;
  check_time(found->since, place, "the time since which the call waits or holds the slot");
  const auto task = read_task(view_, found->task);
  if (!task) return;  // check_tasks() reports a damaged row
  if (!*task) {
    add(StoreFault::kQueueEntry, place,
        fmt::format("task {} does not exist", to_string(found->task)));
  } else if (const char* const wrong = wrong_task(row, *found, **task)) {
    add(StoreFault::kQueueEntry, place, wrong);
  }
}

/// Checks that the row of the task's slot exists. A throttle may have let its task pass, which then
/// has no row.
void Checker::check_task_slot(const StartTask& task, const Place& place) {
  if (task.throttle) {
    note_minor(kMinorOfCallThrottles, "tasks with a throttle");
    note_given(Counter::kSlots, task.throttle->number, place);
  }
  if (!task.slot) return;
  note_minor(kMinorOfCallSlots, "tasks with a slot");
  if (task.slot->timeout) note_minor(kMinorOfCallSlotTimeouts, "timeouts of slots of calls");
  const auto found = find_call_place(view_, task);
  if (!found || *found) return;
  add(StoreFault::kQueueEntry, place, "the task needs a slot, but no row of `queues` has it");
}

}  // namespace millrace
