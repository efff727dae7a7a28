#include "orchestrator/batch/start_inputs.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "orchestrator/batch/event_start.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/store/rows/damage.h"

namespace millrace {

Result<bool> StartInputs::offer(TimePoint now, const AppliedEvent& applied,
                                const StartTarget& target, std::optional<Error>& over) {
  const WorkflowEntry* const entry = batch_.catalog.find_workflow(target.workflow);
  CHECK(entry != nullptr, "a listener belongs to a deleted workflow");
  const auto found = batch_.catalog.definition(batch_.tx, {entry->number, entry->latest});
  if (!found && is_damaged_row(found.error())) {
    batch_.damages.note(found.error());
    return false;
  }
  const auto workflow = TRY(found);
  const Start& start_of = workflow->start;
  if (start_of.kind == Start::Kind::kEventsAnd) {
    if (auto refusal = TRY(instances_.quotas().refusal_of_bytes(entry->ns))) {
      over = std::move(refusal);
      return false;
    }
    return groups_.offer(now, applied, *entry, *workflow, target.entries, over);
  }
  if (workflow->puts_off_starts()) return put_off(now, applied, *entry, *workflow, target, over);
  const size_t which = target.entries.front();
  StartSpec spec = start_by_events(*workflow, entry->latest, {&start_of.events[which], 1},
                                   {&applied.event, 1}, applied.event);
  StartGate gate = TRY(instances_.admit(now, *entry, *workflow, spec.data));
  if (gate.effect) {
    instances_.note_skipped(applied.position, *entry, gate);
    return true;
  }
  if (gate.refusal) {
    over = std::move(gate.refusal);
    return false;
  }
  spec.place = std::move(gate.place);
  if (workflow->looks_back) spec.consumed.add(applied.position, applied.known_as);
  const InstanceId id = TRY(instances_.start_by(now, applied, *entry, *workflow, std::move(spec)));
  batch_.note_effect(applied.position, {.kind = EventEffect::Kind::kStarted, .instance = id});
  return true;
}

/// Puts off the start by the event. Returns whether the event had an effect on the start.
Result<bool> StartInputs::put_off(TimePoint now, const AppliedEvent& applied,
                                  const WorkflowEntry& entry, const Workflow& workflow,
                                  const StartTarget& target, std::optional<Error>& over) {
  const StartEvent& which = workflow.start.events[target.entries.front()];
  StartSpec spec =
      start_by_events(workflow, entry.latest, {&which, 1}, {&applied.event, 1}, applied.event);
  if (workflow.looks_back) spec.consumed.add(applied.position, applied.known_as);
  const InstanceId id = event_start_id(batch_.id_key, applied, entry.number);
  auto deferred = TRY(instances_.pending().defer(now, entry, workflow, std::move(spec), id));
  if (deferred.refusal && deferred.refusal->code != kRateLimitError) {
    over = std::move(deferred.refusal);
    return false;
  }
  batch_.note_effect(applied.position, {.kind = PendingStarts::effect_of(workflow, deferred),
                                        .workflow = entry.number});
  return true;
}

Result<bool> StartInputs::must_wait(TimePoint now, const AppliedEvent& applied,
                                    const StartTarget& target) {
  const WorkflowEntry& entry = *batch_.catalog.find_workflow(target.workflow);
  const auto found = batch_.catalog.definition(batch_.tx, {entry.number, entry.latest});
  if (!found && is_damaged_row(found.error())) return false;  // offer() notes the damage
  return groups_.must_wait(now, applied, entry, *TRY(found));
}

Result<bool> StartInputs::make_way(const AppliedEvent& applied, const StartTarget& target) {
  const WorkflowEntry& entry = *batch_.catalog.find_workflow(target.workflow);
  const auto found = batch_.catalog.definition(batch_.tx, {entry.number, entry.latest});
  if (!found && is_damaged_row(found.error())) return true;
  return groups_.make_way(applied, entry, *TRY(found));
}

Status StartInputs::refuse(NamespaceNumber ns, const EventPosition& position, const Event& event,
                           Error reason) {
  batch_.note_effect(position, {.kind = EventEffect::Kind::kRefused});
  const std::string& name = batch_.catalog.name_of(ns);
  return batch_.dead_letter({.ns = name,
                             .reason = std::move(reason),
                             .sequence = position.sequence,
                             .message = event_message(name, event)});
}

}  // namespace millrace
