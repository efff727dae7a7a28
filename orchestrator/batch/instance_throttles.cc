// The part of Instances for workflows with `throttle`: whether a start has to wait for it, and what
// a pause and an end do to one that waits.
#include <utility>

#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/slots.h"
#include "orchestrator/engine/queueing.h"

namespace millrace {

/// Whether a start of the key may begin now. While the workflow is paused, none may: else all that
/// came in the pause would begin at its end.
Result<bool> Instances::is_permitted(TimePoint now, const WorkflowEntry& entry,
                                     const Workflow& workflow, const SlotKey& key) {
  if (entry.paused) return false;
  const SlotCounts counts = TRY(counts_of(batch_, key));
  if (counts.queued > 0) return false;
  const StartLimit& rate = workflow.throttle->rate;
  return !TRY(rates_.throttled_until(now, rates_.place_of(key), rate)).has_value();
}

/// A paused instance waits without a row: it gets one when it is resumed.
Result<uint64_t> Instances::ask_throttle(TimePoint now, const WorkflowEntry& entry,
                                         const Workflow& workflow, const Instance& instance) {
  if (!workflow.throttle) return 0;  // a new revision may have none
  const SlotKey key = throttle_key_of(entry.number, instance.throttled->key);
  if (!instance.paused && TRY(is_permitted(now, entry, workflow, key))) {
    TRY(rates_.count_throttled(now, entry.ns, rates_.place_of(key), workflow.throttle->rate));
    return 0;
  }
  Throttled waiting = *instance.throttled;
  waiting.number = TRY(batch_.next(Counter::kSlots));
  if (!instance.paused) TRY(add_throttled(batch_, instance, waiting, now));
  ++batch_.outcome.counts.starts_queued;
  batch_.live.queued(instance.ns);
  return waiting.number;
}

/// Lets a new instance begin, or makes it wait.
Status Instances::throttle(TimePoint now, LoadedInstance& loaded, const WorkflowEntry& entry,
                           const Workflow& workflow) {
  Instance& instance = loaded.instance;
  const uint64_t number = TRY(ask_throttle(now, entry, workflow, instance));
  if (number == 0) {
    instance.throttled.reset();
    return {};
  }
  const Throttled& throttled = *instance.throttled;
  loaded.history.push_back({.time = now,
                            .kind = HistoryKind::kThrottled,
                            .state = workflow.states[instance.state]->common().id,
                            .detail = wait_detail(throttled.priority, throttled.key)});
  hold_for_throttle(instance, workflow, number, now);
  return {};
}

/// Takes an instance that was paused out of the order of those that wait, so that others begin
/// before it, or puts it back into its place.
Status Instances::hold_throttled(TimePoint now, const Instance& instance) {
  if (instance.paused) return remove_throttled(batch_, instance);
  return add_throttled(batch_, instance, *instance.throttled, now);
}

/// Ends the wait of an instance that has ended.
Status Instances::leave_throttle(Instance& instance) {
  if (is_throttled(instance)) {
    batch_.live.unqueued(instance.ns);
    TRY(remove_throttled(batch_, instance));
  }
  instance.throttled.reset();
  return {};
}

}  // namespace millrace
