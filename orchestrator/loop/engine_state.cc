#include "orchestrator/loop/engine_state.h"

#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {

EngineState::EngineState(EngineParts parts, const EngineOptions& options, Intake& intake)
    : clock(parts.clock),
      meter(parts.clock, options.units),
      tx(parts.environment),
      catalog(parts.definitions, batches),
      waiting(batches),
      live(batches),
      dedupe(options.dedupe, batches),
      kept_events(damages, batches),
      tasks(parts.functions, catalog, parts.clock, parts.started_tasks, damages, batches),
      webhook_outbox(parts.webhooks, catalog, damages, batches,
                     [&intake](WebhookResult result) { intake.put(std::move(result)); }),
      outbox(parts.publisher, options.kept, std::bind_front(&Intake::acknowledge, &intake)),
      batch({.tx = tx,
             .catalog = catalog,
             .waiting = waiting,
             .live = live,
             .dedupe = dedupe,
             .kept_events = kept_events,
             .tasks = tasks,
             .webhook_outbox = webhook_outbox,
             .crash_note = crash_note,
             .damages = damages,
             .batches = batches,
             .meter = meter,
             .make_id = std::move(parts.make_id),
             .id_key = std::move(parts.id_key),
             .limits = options.limits,
             .request_subjects = options.request_subjects,
             .watch = parts.watch},
            options.batch),
      timers(waiting, batches) {
  tasks.read_large_variables_with(
      [&store = parts.environment](const VariableName& name) -> Result<std::optional<Variable>> {
        const Snapshot view = TRY(Snapshot::take(store));
        return read_variable(view, name);
      });
}

}  // namespace millrace
