#include "orchestrator/loop/engine_state.h"

namespace millrace {

EngineState::EngineState(EngineParts parts, const EngineOptions& options)
    : clock(parts.clock),
      tx(parts.environment),
      catalog(parts.definitions),
      dedupe(options.dedupe),
      tasks(parts.functions, catalog, parts.clock, parts.begun_tasks, damages),
      hooks(parts.webhooks, catalog, damages, std::move(parts.on_webhook_result)),
      outbox(parts.publisher, options.kept, std::move(parts.on_ack)),
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
             .make_id = std::move(parts.make_id),
             .id_key = std::move(parts.id_key),
             .limits = options.engine},
            options.batch) {}

void EngineState::committed() {
  catalog.committed();
  waiting.committed();
  living.committed();
  dedupe.committed();
  recent.committed();
  tasks.committed();
  hooks.committed();
  batch.committed();
  timers.committed();
}

}  // namespace millrace
