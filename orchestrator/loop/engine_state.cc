#include "orchestrator/loop/engine_state.h"

namespace millrace {

EngineState::EngineState(EngineParts parts, const EngineOptions& options, Intake& intake)
    : clock(parts.clock),
      tx(parts.environment),
      catalog(parts.definitions, batches),
      waiting(batches),
      living(batches),
      dedupe(options.dedupe, batches),
      recent(damages, batches),
      tasks(parts.functions, catalog, parts.clock, parts.begun_tasks, damages, batches),
      hooks(parts.webhooks, catalog, damages, batches,
            [&intake](WebhookResult result) { intake.put(std::move(result)); }),
      outbox(parts.publisher, options.kept, std::bind_front(&Intake::acknowledge, &intake)),
      batch({.tx = tx,
             .catalog = catalog,
             .waiting = waiting,
             .living = living,
             .dedupe = dedupe,
             .recent = recent,
             .tasks = tasks,
             .hooks = hooks,
             .in_hand = in_hand,
             .damages = damages,
             .batches = batches,
             .make_id = std::move(parts.make_id),
             .id_key = std::move(parts.id_key),
             .limits = options.limits},
            options.batch),
      timers(waiting, batches) {}

}  // namespace millrace
