#include "orchestrator/runtime/schedules.h"

namespace millrace {

void Schedules::set(TimePoint now, WorkflowNumber workflow, const std::optional<Cron>& before,
                    const std::optional<Cron>& cron) {
  if (before == cron) return;
  if (!cron) return remove(workflow);
  write_schedule(draft_.tx, workflow, {.from = now});
  draft_.waiting.arm_schedule(workflow, cron->next(now));
}

void Schedules::remove(WorkflowNumber workflow) {
  erase_schedule(draft_.tx, workflow);
  draft_.waiting.disarm_schedule(workflow);
}

Status Schedules::tick(TimePoint now, WorkflowNumber number, TimePoint tick) {
  const auto row = TRY(read_schedule(draft_.tx, number));
  if (!row) return {};  // it has waited while new work had to, and its workflow is gone
  const WorkflowEntry& entry = *draft_.catalog.find_workflow(number);
  const auto workflow = TRY(draft_.catalog.definition(draft_.tx, {number, entry.latest}));
  const Cron& cron = *workflow->start.cron;
  if (cron.next(row->from) != tick) return {};  // or there is another schedule now
  const TimePoint from = cron.caught_up(tick, now);
  write_schedule(draft_.tx, number, {.from = from, .last = tick});
  draft_.waiting.arm_schedule(number, cron.next(from));
  if (instances_.skips(entry, *workflow)) return {};
  TRY(instances_.start_later(
      now, entry, *workflow,
      {.data = Json::object(),
       .how =
           Json{{"by", "schedule"}, {"revision", entry.latest}, {"tick", format_rfc3339(tick)}}}));
  return {};
}

}  // namespace millrace
