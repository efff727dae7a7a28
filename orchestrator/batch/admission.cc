// The part of Instances that decides whether an instance may start.
#include <utility>

#include <fmt/format.h>

#include "orchestrator/batch/instances.h"

namespace millrace {

Status Instances::refuse_singular(const WorkflowEntry& entry, const Workflow& workflow) const {
  if (!workflow.singular || !batch_.live.any(entry.number)) return {};
  return fail(
      "direktiv.mutex",
      fmt::format("workflow \"{}\" is singular, and an instance of it has not ended", entry.id));
}

Result<StartGate> Instances::admit(TimePoint now, const WorkflowEntry& entry,
                                   const Workflow& workflow, const LazyJson& input,
                                   bool has_counted) {
  StartGate gate;
  if (Status single = refuse_singular(entry, workflow); !single) {
    gate.refusal = std::move(single).error();
    gate.effect = EventEffect::Kind::kSkipped;
    return gate;
  }
  gate.refusal = TRY(quotas_.refusal_of_start(entry.ns));
  if (gate.refusal) return gate;
  if (has_flow_control(workflow)) {
    if (!has_counted) gate.refusal = TRY(rates_.check(now, entry, workflow, input));
    if (!gate.refusal) TRY(find_slot(now, entry, workflow, input, gate));
    if (!gate.refusal) TRY(find_throttle(now, entry, workflow, input, gate));
  }
  // A start that another limit refuses does not count.
  if (!gate.refusal && !has_counted) gate.refusal = TRY(rates_.take(now, entry, workflow, input));
  if (gate.refusal && gate.refusal->code == kRateLimitError) {
    gate.effect = EventEffect::Kind::kRateLimited;
  }
  return gate;
}

void Instances::count_skipped(const StartGate& gate) {
  // StartRates counts the others.
  if (gate.effect == EventEffect::Kind::kSkipped) ++batch_.outcome.counts.starts_skipped;
}

void Instances::note_skipped(const EventPosition& position, const WorkflowEntry& entry,
                             const StartGate& gate) {
  count_skipped(gate);
  batch_.note_effect(position, {.kind = *gate.effect, .workflow = entry.number});
}

}  // namespace millrace
