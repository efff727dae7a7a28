#include "orchestrator/loop/lost_batch.h"

#include <set>
#include <utility>

#include "orchestrator/loop/recovery.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/group_rows.h"

namespace millrace {
namespace {

/// Timers of delayed events that the batch armed, or took as due.
Status restore_delayed(EngineState& engine, const std::vector<uint64_t>& numbers) {
  for (const uint64_t number : numbers) {
    const auto read = read_delayed(engine.tx, number);
    if (!read && is_damaged_row(read.error())) continue;
    const auto record = TRY(read);
    if (record && engine.catalog.has_namespace(record->space)) {
      engine.waiting.arm_delayed(number, record->at);
    } else {
      engine.waiting.disarm_delayed(number);
    }
  }
  return {};
}

/// The same of events that wait in eventsAnd groups.
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

}  // namespace

Status undo(EngineState& engine) {
  engine.tx.drop();
  TRY(engine.outbox.forget_batch(engine.tx, engine.damages.noting()));
  auto workflows = engine.catalog.undo(engine.tx);
  if (!workflows) return tl::unexpected(workflows.error());
  engine.living.undo();
  engine.dedupe.undo();
  engine.tasks.undo();
  engine.hooks.undo();
  engine.timers.undo();

  const Waiting::Changes changes = engine.waiting.undo();
  workflows->insert(changes.workflows.begin(), changes.workflows.end());
  for (const WorkflowNumber number : *workflows) TRY(restore_workflow(engine, number));
  std::set<std::pair<NamespaceNumber, InstanceId>> instances(changes.instances.begin(),
                                                             changes.instances.end());
  const auto on_their_way = engine.recent.undo();
  instances.insert(on_their_way.begin(), on_their_way.end());
  for (const auto& [space, id] : instances) TRY(restore_instance(engine, space, id));
  TRY(restore_delayed(engine, changes.delayed));
  TRY(restore_grouped(engine, changes.grouped));
  TRY(engine.batch.undo());
  engine.batches.begin();  // what was taken back is no change of the next one
  return {};
}

}  // namespace millrace
