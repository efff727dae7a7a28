// The part of Instances for workflows with flow control: whether an instance may start, and how it
// comes to its slot or into the queue.
#include <string>
#include <utility>

#include <fmt/format.h>

#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/slots.h"
#include "orchestrator/batch/start_decision.h"
#include "orchestrator/engine/queueing.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"

namespace millrace {

/// Why one more start of the namespace may not wait; nullopt: it may.
std::optional<Error> Instances::refusal_of_wait(NamespaceNumber ns) {
  const uint64_t most = batch_.catalog.settings(ns).quotas.of(Quota::kQueuedStarts);
  if (batch_.live.count_queued(ns) < most) return std::nullopt;
  return refuse_over_quota(batch_, ns, Quota::kQueuedStarts);
}

/// Whether a start gets a slot of its key at once. A holder whose instance is gone, because its
/// damaged rows were removed, does not count.
Result<bool> Instances::has_room(const WorkflowEntry& entry, const Workflow& workflow,
                                 const Slot& slot) {
  const SlotKey key = slot_key_of(entry.number, slot.key);
  const uint64_t most = slots_of(workflow);
  SlotCounts counts = TRY(counts_of(batch_, key));
  while (counts.queued == 0 && counts.held >= most) {
    if (!TRY(drop_gone(entry.ns, key, counts))) return false;
  }
  return counts.queued == 0;
}

/// Erases the row of the instance that has held its slot longest, if that instance does not exist.
Result<bool> Instances::drop_gone(NamespaceNumber ns, const SlotKey& key, SlotCounts& counts) {
  const auto first =
      TRY(read_first_place(batch_.tx, QueueRow::kHolder, key, batch_.damages.noting()));
  if (!first) {
    counts = TRY(recount(batch_, key));
    return true;
  }
  const bool is_there =
      loaded_.contains(first->instance) || TRY(has_rows(batch_.tx, ns, first->instance));
  if (is_there) return false;
  const Slot gone{.number = first->number, .is_queued = false};
  batch_.damages.note(damaged_row(
      Table::kQueues, place_key(key, gone),
      fmt::format("instance {}, which it names, does not exist", to_string(first->instance))));
  erase_slot_place(batch_.tx, key, gone);
  counts.held -= counts.held > 0 ? 1 : 0;
  write_slot_counts(batch_.tx, key, counts);
  return true;
}

/// Cancels the instance in whose place the new one, `newer`, starts: if some wait for a slot,
/// because an instance that was cancelled makes its compensations, the next of them, else the one
/// that has held its slot longest.
Status Instances::replace(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                          const Slot& slot, const InstanceId& newer) {
  if (workflow.concurrency->on_limit != Concurrency::OnLimit::kReplace) return {};
  if (TRY(has_room(entry, workflow, slot))) return {};
  const SlotKey key = slot_key_of(entry.number, slot.key);
  const SlotCounts counts = TRY(counts_of(batch_, key));
  const auto kind = counts.queued > 0 ? QueueRow::kWaiting : QueueRow::kHolder;
  const auto first = TRY(read_first_place(batch_.tx, kind, key, batch_.damages.noting()));
  if (!first) return {};
  LoadedInstance* const loaded = TRY(load(now, entry.ns, first->instance));
  if (loaded == nullptr || !loaded->instance.slot || loaded->instance.compensating) return {};
  ++batch_.outcome.counts.starts_replaced;
  TRY(step(now, *loaded,
           Cancel{.error = {"millrace.concurrency.replaced",
                            fmt::format("instance {}, another start of workflow \"{}\"{}, took "
                                        "its place (`concurrency.onLimit: replace`)",
                                        to_string(newer), entry.id, of_slot_key(slot))}}));
  return {};
}

/// Gives a new instance its slot, or makes it wait for one.
Status Instances::place(TimePoint now, LoadedInstance& loaded, const Workflow& workflow,
                        Slot slot) {
  Instance& instance = loaded.instance;
  slot = TRY(take_slot(batch_, instance, std::move(slot), slots_of(workflow), now));
  if (!slot.is_queued) {
    instance.slot = std::move(slot);
    return {};
  }
  loaded.history.push_back({.time = now,
                            .kind = HistoryKind::kQueued,
                            .state = workflow.states[instance.state]->common().id,
                            .detail = wait_detail(slot.priority, slot.key)});
  hold_in_queue(instance, workflow, std::move(slot), now);
  return {};
}

/// Begins an instance as begin() does, in its place, or as one that waits (waits_to_start()), which
/// makes no step. The throttle decides about one that has its slot.
Result<LoadedInstance*> Instances::begin_in_place(TimePoint now, const WorkflowEntry& entry,
                                                  const Workflow& workflow, StartSpec spec) {
  StartPlace where = std::exchange(spec.place, {});
  if (where.slot) {
    if (!spec.id) spec.id = batch_.make_id(now);
    TRY(replace(now, entry, workflow, *where.slot, *spec.id));
  }
  LoadedInstance& loaded = begin(now, entry, workflow, std::move(spec));
  if (where.slot) TRY(place(now, loaded, workflow, *std::move(where.slot)));
  loaded.instance.throttled = std::move(where.throttled);
  if (loaded.instance.throttled && !is_queued(loaded.instance)) {
    TRY(throttle(now, loaded, entry, workflow));
  }
  if (waits_to_start(loaded.instance)) TRY(begin_wait(now, loaded, entry.paused));
  return &loaded;
}

/// The slot of an instance that begins another run after its end; nullopt: the workflow has no
/// `concurrency`. Such an instance does not wait: error `millrace.concurrency.limit` if no slot is
/// free.
Result<std::optional<Slot>> Instances::slot_of_revived(TimePoint now, const WorkflowEntry& entry,
                                                       const Workflow& workflow,
                                                       const LazyJson& input) {
  if (!workflow.concurrency) return std::optional<Slot>();
  std::optional<Slot> slot = TRY(evaluate_slot(workflow, input, now));
  if (slot && !TRY(has_room(entry, workflow, *slot))) {
    return tl::unexpected(no_slot(entry.id, workflow, *slot,
                                  {.code = "millrace.concurrency.limit",
                                   .then = "repeat the command",
                                   .holder = TRY(oldest_holder(batch_.tx, entry.number, *slot))}));
  }
  return slot;
}

/// Frees the slot of an instance that has ended. While a workflow is deleted with its instances, no
/// start that waits gets it.
Status Instances::free_slot(Instance& instance, const Stimulus& stimulus) {
  const auto* const cancel = std::get_if<Cancel>(&stimulus);
  TRY(leave_slot(batch_, instance, cancel == nullptr || !cancel->deletes));
  instance.slot.reset();
  return {};
}

/// Publishes and notes a new instance that waits; it makes no step.
Status Instances::begin_wait(TimePoint now, LoadedInstance& loaded, bool paused) {
  TRY(batch_.publish_lifecycle(loaded.instance, loaded.history, 1));
  if (paused) TRY(step(now, loaded, Pause{}));
  return note(loaded.instance);
}

}  // namespace millrace
