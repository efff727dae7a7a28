#include "orchestrator/loop/lost_batch.h"

#include <set>
#include <utility>

#include "base/has_code.h"
#include "orchestrator/loop/recovery.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/pending_start_rows.h"

namespace millrace {
namespace {

/// Restores the timers of delayed events that the batch armed or took as due.
Status restore_delayed(EngineState& engine, const std::vector<uint64_t>& numbers) {
  for (const uint64_t number : numbers) {
    const auto read = read_delayed(engine.tx, number);
    if (!read && is_damaged_row(read.error())) continue;
    const auto record = TRY(read);
    if (record && engine.catalog.has_namespace(record->ns)) {
      engine.waiting.arm_delayed(number, record->at);
    } else {
      engine.waiting.disarm_delayed(number);
    }
  }
  return {};
}

/// Restores the timers of events in eventsAnd groups that the batch armed or took as due.
Status restore_grouped(EngineState& engine, const std::vector<uint64_t>& numbers) {
  for (const uint64_t number : numbers) {
    const auto read = read_grouped(engine.tx, number);
    if (!read && is_damaged_row(read.error())) continue;
    const auto event = TRY(read);
    if (event && event->record.expires) {
      engine.waiting.arm_grouped(number, *event->record.expires);
    } else {
      engine.waiting.disarm_grouped(number);
    }
  }
  return {};
}

/// Restores the timer of the pending starts.
Status restore_starts(EngineState& engine) {
  const auto first = TRY(first_pending_start(engine.tx));
  if (first) {
    engine.waiting.arm_starts(first->listed);
  } else {
    engine.waiting.disarm_starts();
  }
  return {};
}

}  // namespace

bool ends_engine(const Error& error) {
  return has_code(error, {"store.sync", "log.deposed", "log.lost", "log.closed"});
}

Status undo(EngineState& engine) {
  engine.tx.drop();
  TRY(engine.outbox.forget_batch(engine.tx, engine.damages.noting()));
  auto workflows = engine.catalog.undo(engine.tx);
  if (!workflows) return tl::unexpected(workflows.error());
  engine.live.undo();
  engine.dedupe.undo();
  engine.tasks.undo();
  engine.webhook_outbox.undo();
  engine.timers.undo();

  const WaitIndex::Changes changes = engine.waiting.undo();
  workflows->insert(changes.workflows.begin(), changes.workflows.end());
  for (const WorkflowNumber number : *workflows) TRY(restore_workflow(engine, number));
  std::set<std::pair<NamespaceNumber, InstanceId>> instances(changes.instances.begin(),
                                                             changes.instances.end());
  const auto pending_listeners = engine.kept_events.undo();
  instances.insert(pending_listeners.begin(), pending_listeners.end());
  for (const auto& [ns, id] : instances) TRY(restore_instance(engine, ns, id));
  TRY(restore_delayed(engine, changes.delayed));
  TRY(restore_grouped(engine, changes.grouped));
  if (changes.has_starts) TRY(restore_starts(engine));
  TRY(engine.batch.undo());
  engine.batches.begin();  // begins a new batch, so that the changes made by undo() do not belong
                           // to the next one
  return {};
}

}  // namespace millrace
