#include "orchestrator/batch/call_slots.h"

#include <fmt/format.h>

#include "orchestrator/store/rows/task_rows.h"

namespace millrace {
namespace {

/// The number of the tasks of a kind.
uint64_t& number_of(CallSlotCounts& counts, QueueRow kind) {
  if (kind == QueueRow::kCallHolder) return counts.held;
  return kind == QueueRow::kCallPaused ? counts.paused : counts.queued;
}

void count_less(CallSlotCounts& counts, QueueRow kind) {
  uint64_t& number = number_of(counts, kind);
  if (number > 0) --number;
}

/// Sets what the tasks of the key are for, from one of them.
Status describe_calls(BatchState& batch, const InstanceId& id, CallSlotCounts& counts) {
  const auto task = read_task(batch.tx, id);
  if (!task && !is_damaged_row(task.error())) return tl::unexpected(task.error());
  if (!task || !*task || !(*task)->slot) return {};
  counts.service = slot_service_of(**task);
  counts.key = (*task)->slot->key;
  counts.limit = (*task)->slot->limit;
  counts.sealed |= (*task)->sealed;
  return {};
}

}  // namespace

Result<CallSlotCounts> call_counts_of(BatchState& batch, const CallSlotKey& key) {
  auto counts = read_call_counts(batch.tx, key);
  if (counts) return *counts ? **std::move(counts) : CallSlotCounts();
  if (!is_damaged_row(counts.error())) return tl::unexpected(counts.error());
  batch.damages.note(counts.error());
  return recount_calls(batch, key);
}

Result<CallSlotCounts> recount_calls(BatchState& batch, const CallSlotKey& key) {
  CallSlotCounts counts;
  for (const QueueRow kind :
       {QueueRow::kCallHolder, QueueRow::kCallWaiting, QueueRow::kCallPaused}) {
    std::optional<InstanceId> newest;
    TRY(each_call_place(
        batch.tx, kind, key,
        [&](const PlacedCall& one) {
          ++number_of(counts, kind);
          newest = one.record.task;
          return true;
        },
        batch.damages.noting()));
    if (newest) TRY(describe_calls(batch, *newest, counts));
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
  counts.service = slot_service_of(task);
  counts.key = slot.key;
  counts.limit = slot.limit;
  counts.sealed |= task.sealed;
  slot.number = TRY(batch.next(Counter::kSlots));
  const bool is_held = is_service_held(batch, key.ns, counts.service);
  const bool has_room = counts.held < slot.limit;
  const bool waits = counts.queued > 0 || !has_room || is_held;
  const CallPlace place{.kind = waits ? QueueRow::kCallWaiting : QueueRow::kCallHolder,
                        .priority = slot.priority,
                        .number = slot.number};
  ++number_of(counts, place.kind);
  write_call_place(batch.tx, key, place,
                   {.task = task.task, .since = task.created, .limit = slot.limit});
  write_call_counts(batch.tx, key, counts);
  if (!waits) return place;
  ++batch.outcome.counts.calls_queued;
  // A slot is free, and tasks that came before have not got theirs yet.
  if (has_room && !is_held) batch.woken_calls.push_back(key);
  return place;
}

Status end_task(BatchState& batch, const InstanceId& task) {
  const OpenTask* const known = batch.tasks.find(task);
  if (known != nullptr && known->place) {
    const CallSlotKey key = known->slots;
    const CallPlace place = *known->place;
    CallSlotCounts counts = TRY(call_counts_of(batch, key));
    erase_call_place(batch.tx, key, place);
    count_less(counts, place.kind);
    write_call_counts(batch.tx, key, counts);
    // Behind a task that waits, one with a higher limit may have had to wait.
    if (counts.queued > 0) batch.woken_calls.push_back(key);
  }
  batch.tasks.end(batch.tx, task);
  return {};
}

Status rejoin_calls(BatchState& batch, const Instance& instance, TimePoint now) {
  for (const Call& call : instance.calls) {
    if (call.status != Call::Status::kRunning || !call.outside) continue;
    const OpenTask* const known = batch.tasks.find(call.id);
    const bool is_out =
        known != nullptr && known->place && known->place->kind == QueueRow::kCallPaused;
    if (!is_out) continue;
    const CallSlotKey key = known->slots;
    CallPlace place = *known->place;
    const auto task = TRY(read_task(batch.tx, call.id));
    if (!task || !task->slot) continue;
    CallSlotCounts counts = TRY(call_counts_of(batch, key));
    erase_call_place(batch.tx, key, place);
    count_less(counts, place.kind);
    place.kind = QueueRow::kCallWaiting;
    ++counts.queued;
    write_call_place(batch.tx, key, place,
                     {.task = call.id, .since = now, .limit = task->slot->limit});
    write_call_counts(batch.tx, key, counts);
    batch.tasks.set_place(call.id, place);
    batch.woken_calls.push_back(key);
  }
  return {};
}

Status end_waiting_calls(BatchState& batch, const Instance& instance) {
  for (size_t i = 0; i < instance.calls.size(); ++i) {
    const Call& call = instance.calls[i];
    if (call.status != Call::Status::kRunning || !call.outside) continue;
    const OpenTask* const known = batch.tasks.find(call.id);
    if (known == nullptr || !known->awaits_slot()) continue;
    TRY(end_task(batch, call.id));
    batch.messages.push_back(
        {ReturnResult{.ns = instance.ns,
                      .to = {.instance = instance.id,
                             .entered = instance.entered,
                             .index = static_cast<uint32_t>(i),
                             .attempt = call.attempt},
                      .result = tl::unexpected(
                          Error{"direktiv.cancels.api",
                                "the instance was cancelled while the call waited for a slot"})},
         batch.listen_from_now(), lane_of(instance)});
  }
  return {};
}

}  // namespace millrace
