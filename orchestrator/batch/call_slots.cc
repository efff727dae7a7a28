#include "orchestrator/batch/call_slots.h"

#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "orchestrator/batch/call_throttles.h"
#include "orchestrator/batch/call_waits.h"
#include "orchestrator/store/rows/task_rows.h"

namespace millrace {
namespace {

/// The number of the tasks of a kind.
uint64_t& number_of(CallSlotCounts& counts, QueueRow kind) {
  if (kind == QueueRow::kCallHolder) return counts.held;
  const bool is_paused = kind == QueueRow::kCallPaused || kind == QueueRow::kCallThrottlePaused;
  return is_paused ? counts.paused : counts.queued;
}

/// Sets what the tasks of the key are for, from one of them.
Status describe_calls(BatchState& batch, const InstanceId& id, const CallSlotKey& key,
                      CallSlotCounts& counts) {
  const auto task = read_task(batch.tx, id);
  if (!task && !is_damaged_row(task.error())) return tl::unexpected(task.error());
  if (!task || !*task) return {};
  const bool is_of_key =
      key.is_throttle ? (*task)->throttle.has_value() : (*task)->slot.has_value();
  if (is_of_key) describe_calls(counts, **task, key);
  return {};
}

/// Takes a task that ends out of its place.
Status leave_place(BatchState& batch, const CallSlotKey& key, const CallPlace& place) {
  CallSlotCounts counts = TRY(call_counts_of(batch, key));
  erase_call_place(batch.tx, key, place);
  count_less(counts, place.kind);
  write_call_counts(batch.tx, key, counts);
  // Behind a task that waits, one with a higher limit may have had to wait.
  if (counts.queued > 0) batch.woken_calls.push_back(key);
  return {};
}

/// Puts a task that was left out back among those that wait, and sets its place.
Status rejoin(BatchState& batch, const CallSlotKey& key, CallPlace& place,
              const CallPlaceRecord& record) {
  CallSlotCounts counts = TRY(call_counts_of(batch, key));
  erase_call_place(batch.tx, key, place);
  count_less(counts, place.kind);
  place.kind = waiting_kind(key);
  count_more(counts, place.kind);
  write_call_place(batch.tx, key, place, record);
  write_call_counts(batch.tx, key, counts);
  batch.woken_calls.push_back(key);
  return {};
}

/// Puts the task of a call back that was left out, if it was; the wait of one that was not begins
/// again.
Status rejoin_call(BatchState& batch, const InstanceId& id, TimePoint now) {
  const OpenTask* const known = batch.tasks.find(id);
  if (known == nullptr) return {};
  if (known->wait_end()) return restart_call_wait(batch, id, now);
  const bool left_queue = known->place && known->place->kind == QueueRow::kCallPaused;
  const bool left_throttle =
      known->awaits_throttle() && known->throttle->place->kind == QueueRow::kCallThrottlePaused;
  if (!left_queue && !left_throttle) return {};
  const auto task = TRY(batch.damages.pass_over(read_task(batch.tx, id)));
  if (!task) return {};
  if (left_queue && task->slot) {
    CallPlace place = *known->place;
    TRY(rejoin(batch, known->slots, place, {.task = id, .since = now, .limit = task->slot->limit}));
    batch.tasks.set_place(id, place, end_of_slot_wait(*task, now));
  } else if (left_throttle && task->throttle) {
    CallPlace place = *known->throttle->place;
    const CallPlaceRecord record = throttled_record(*task, now);
    TRY(rejoin(batch, known->throttle->key, place, record));
    batch.tasks.set_throttled(id, place, record.until);
  }
  return {};
}

}  // namespace

void describe_calls(CallSlotCounts& counts, const StartTask& task, const CallSlotKey& key) {
  counts.service = slot_service_of(task);
  counts.key = key.is_throttle ? task.throttle->key : task.slot->key;
  counts.limit = key.is_throttle ? task.throttle->rate.limit : task.slot->limit;
  counts.sealed |= task.sealed;
}

void count_more(CallSlotCounts& counts, QueueRow kind) { ++number_of(counts, kind); }

void count_less(CallSlotCounts& counts, QueueRow kind) {
  uint64_t& number = number_of(counts, kind);
  if (number > 0) --number;
}

Result<CallSlotCounts> call_counts_of(BatchState& batch, const CallSlotKey& key) {
  auto counts = read_call_counts(batch.tx, key);
  if (counts) return *counts ? **std::move(counts) : CallSlotCounts();
  if (!is_damaged_row(counts.error())) return tl::unexpected(counts.error());
  batch.damages.note(counts.error());
  return recount_calls(batch, key);
}

Result<CallSlotCounts> recount_calls(BatchState& batch, const CallSlotKey& key) {
  CallSlotCounts counts;
  std::vector<QueueRow> kinds{waiting_kind(key), paused_kind(key)};
  if (!key.is_throttle) kinds.insert(kinds.begin(), QueueRow::kCallHolder);
  for (const QueueRow kind : kinds) {
    std::optional<InstanceId> newest;
    TRY(each_call_place(
        batch.tx, kind, key,
        [&](const PlacedCall& one) {
          count_more(counts, kind);
          newest = one.record.task;
          return true;
        },
        batch.damages.noting()));
    if (newest) TRY(describe_calls(batch, *newest, key, counts));
  }
  write_call_counts(batch.tx, key, counts);
  return counts;
}

bool is_service_held(const BatchState& batch, NamespaceNumber ns, const SlotService& service) {
  if (service.kind == SlotService::Kind::kContainer) return false;
  const bool is_global = service.kind == SlotService::Kind::kGlobalService;
  return batch.catalog.is_held(ns, {.name = service.name, .global = is_global});
}

Status drop_gone_calls(BatchState& batch, const CallSlotKey& key, CallSlotCounts& counts,
                       uint32_t limit) {
  while (counts.held >= limit) {
    const auto first =
        TRY(read_first_call(batch.tx, QueueRow::kCallHolder, key, batch.damages.noting()));
    if (!first) {
      counts = TRY(recount_calls(batch, key));
      return {};
    }
    if (batch.tasks.find(first->record.task) != nullptr) return {};
    batch.damages.note(damaged_row(
        Table::kQueues, call_place_key(key, first->place),
        fmt::format("task {}, which it names, does not exist", to_string(first->record.task))));
    erase_call_place(batch.tx, key, first->place);
    count_less(counts, QueueRow::kCallHolder);
    write_call_counts(batch.tx, key, counts);
  }
  return {};
}

Result<CallPlace> take_call_slot(BatchState& batch, StartTask& task) {
  TaskSlot& slot = *task.slot;
  const CallSlotKey key = call_slot_key_of(task);
  CallSlotCounts counts = TRY(call_counts_of(batch, key));
  if (counts.queued == 0) TRY(drop_gone_calls(batch, key, counts, slot.limit));
  describe_calls(counts, task, key);
  slot.number = TRY(batch.next(Counter::kSlots));
  const bool is_held = is_service_held(batch, key.ns, counts.service);
  const bool has_room = counts.held < slot.limit;
  const bool waits = counts.queued > 0 || !has_room || is_held;
  const CallPlace place{.kind = waits ? QueueRow::kCallWaiting : QueueRow::kCallHolder,
                        .priority = slot.priority,
                        .number = slot.number};
  count_more(counts, place.kind);
  write_call_place(batch.tx, key, place,
                   {.task = task.task, .since = task.created, .limit = slot.limit});
  write_call_counts(batch.tx, key, counts);
  if (!waits) return place;
  ++batch.outcome.counts.calls_queued;
  // A slot is free, and tasks that came before have not got theirs yet.
  if (has_room && !is_held) batch.woken_calls.push_back(key);
  if (slot.timeout) batch.has_due_call_throttle = true;  // CallQueues arms the timer
  return place;
}

Status end_task(BatchState& batch, const InstanceId& task) {
  const OpenTask* const known = batch.tasks.find(task);
  if (known != nullptr) {
    if (known->place) TRY(leave_place(batch, known->slots, *known->place));
    if (known->awaits_throttle()) {
      TRY(leave_place(batch, known->throttle->key, *known->throttle->place));
    }
  }
  drop_pieces(batch, batch.staged.take(task));
  batch.tasks.end(batch.tx, task);
  return {};
}

Status rejoin_calls(BatchState& batch, const Instance& instance, TimePoint now) {
  for (const Call& call : instance.calls) {
    if (call.status != Call::Status::kRunning || !call.outside) continue;
    TRY(rejoin_call(batch, call.id, now));
  }
  return {};
}

Status end_waiting_calls(BatchState& batch, const Instance& instance) {
  for (size_t i = 0; i < instance.calls.size(); ++i) {
    const Call& call = instance.calls[i];
    if (call.status != Call::Status::kRunning || !call.outside) continue;
    const OpenTask* const known = batch.tasks.find(call.id);
    if (known == nullptr || !known->awaits_turn()) continue;
    const std::string_view awaited =
        known->awaits_slot() ? "a slot" : "the throttle of its service";
    TRY(end_task(batch, call.id));
    batch.messages.push_back(
        {ReturnResult{.ns = instance.ns,
                      .to = {.instance = instance.id,
                             .entered = instance.entered,
                             .index = static_cast<uint32_t>(i),
                             .attempt = call.attempt},
                      .result = tl::unexpected(
                          Error{"direktiv.cancels.api",
                                fmt::format("the instance was cancelled while the call waited for "
                                            "{}",
                                            awaited)})},
         batch.listen_from_now(), lane_of(instance)});
  }
  return {};
}

}  // namespace millrace
