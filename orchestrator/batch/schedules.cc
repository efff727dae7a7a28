#include "orchestrator/batch/schedules.h"

#include <utility>

#include "orchestrator/store/rows/catalog_rows.h"

namespace millrace {

void Schedules::set(TimePoint now, WorkflowNumber workflow, const std::optional<Cron>& before,
                    const std::optional<Cron>& cron) {
  if (before == cron) return;
  if (!cron) return remove(workflow);
  write_schedule(batch_.tx, workflow, {.from = now});
  batch_.waiting.arm_schedule(workflow, cron->next(now));
}

void Schedules::remove(WorkflowNumber workflow) {
  erase_schedule(batch_.tx, workflow);
  batch_.waiting.disarm_schedule(workflow);
}

Status Schedules::tick(TimePoint now, WorkflowNumber number, TimePoint tick) {
  const auto row = TRY(batch_.damages.pass_over(read_schedule(batch_.tx, number)));
  const WorkflowEntry* const found = batch_.catalog.find_workflow(number);
  // The tick may have waited during backpressure while its workflow or schedule was removed.
  if (!row || found == nullptr) return {};
  const WorkflowEntry& entry = *found;
  const auto workflow = TRY(batch_.catalog.definition(batch_.tx, {number, entry.latest}));
  if (!workflow->start.cron) return {};
  const Cron& cron = *workflow->start.cron;
  // The schedule was changed, so this tick is none of its ticks.
  if (cron.next(row->from) != tick) return {};
  const TimePoint from = cron.caught_up(tick, now);
  const TimePoint first = row->first.value_or(tick);
  write_schedule(batch_.tx, number, {.from = from, .last = tick, .first = first});
  batch_.waiting.arm_schedule(number, cron.next(from));
  // In Temporal's vocabulary the execution timeout of all instances of a schedule counts from its
  // first tick.
  const auto& execution = workflow->timeouts.execution;
  const bool is_one = execution && !workflow->timeouts.fails;
  if (is_one && now >= execution->after(first)) return {};
  StartSpec spec{
      .data = Json::object(),
      .how = Json{{"by", "schedule"}, {"revision", entry.latest}, {"tick", format_rfc3339(tick)}},
      .origin = {.execution_from = is_one ? std::optional(first) : std::nullopt}};
  if (workflow->puts_off_starts()) {
    // A refusal of a tick has no receiver; the metrics count it.
    TRY(instances_.pending().defer(now, entry, *workflow, std::move(spec), batch_.make_id(now)));
    return {};
  }
  StartGate gate = TRY(instances_.admit(now, entry, *workflow, spec.data));
  if (gate.refusal) {
    instances_.count_skipped(gate);
    return {};
  }
  spec.place = std::move(gate.place);
  TRY(instances_.start_later(now, entry, *workflow, std::move(spec)));
  return {};
}

}  // namespace millrace
