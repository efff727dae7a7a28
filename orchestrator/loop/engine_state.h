// EngineState: all that the engine's thread holds: the transaction, what memory keeps of the store,
// and what is to leave. Each member changes with the batch in hand; where that is lost, undo()
// (lost_batch.h) takes back what it changed. Engine thread only, but for `damages`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/batch_notes.h"
#include "orchestrator/batch/batch.h"
#include "orchestrator/batch/crash_note.h"
#include "orchestrator/loop/due_timers.h"
#include "orchestrator/loop/intake.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/memory/damages.h"
#include "orchestrator/memory/dedupe.h"
#include "orchestrator/memory/kept_events.h"
#include "orchestrator/memory/live_counts.h"
#include "orchestrator/memory/wait_index.h"
#include "orchestrator/outgoing/outbox.h"
#include "orchestrator/outgoing/task_dispatch.h"
#include "orchestrator/outgoing/webhooks.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

struct EngineOptions {
  DedupeWindow dedupe;
  BatchLimits batch;
  KeptLimits kept;
  EngineLimits limits;
};

/// What an engine must be given; all outlive it.
struct EngineParts {
  Environment& environment;
  const Clock& clock;
  Publisher& publisher;
  TaskRunner& functions;
  WebhookSender& webhooks;
  DefinitionCache& definitions;
  IdMaker make_id;
  std::string id_key;       ///< Lookup::id_key
  BegunTasks& begun_tasks;  ///< kept in step, for queries
};

struct EngineState {
  /// What the broker and webhooks answer goes to `intake`, which outlives it.
  EngineState(EngineParts parts, const EngineOptions& options, Intake& intake);

  const Clock& clock;
  BatchCount batches;
  Damages damages;
  Transaction tx;
  Catalog catalog;
  Waiting waiting;
  Living living;
  Dedupe dedupe;
  Recent recent;
  Tasks tasks;
  Hooks hooks;
  InHand in_hand;
  Outbox outbox;
  Batch batch;
  DueTimers timers;
};

}  // namespace millrace
