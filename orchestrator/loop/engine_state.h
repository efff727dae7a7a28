// EngineState: all objects of the engine thread: the transaction, the caches of the store, and the
// outgoing messages, tasks and webhooks. Each member changes with the current batch; if that batch
// is lost, undo() (lost_batch.h) reverts the changes. Engine thread only, except `damages`.
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
#include "orchestrator/outgoing/webhook_outbox.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

struct EngineOptions {
  DedupeWindow dedupe;
  BatchLimits batch;
  UnitLimits units;
  AckedLimits kept;
  EngineLimits limits;
  RequestSubjects request_subjects;  ///< the subjects that new settings may name
};

/// The objects that an engine needs; all outlive it.
struct EngineParts {
  Environment& environment;
  const Clock& clock;
  Publisher& publisher;
  TaskRunner& functions;
  WebhookSender& webhooks;
  DefinitionCache& definitions;
  IdMaker make_id;
  std::string id_key;           ///< Lookup::id_key
  StartedTasks& started_tasks;  ///< kept up to date for queries
  WatchRing* watch = nullptr;   ///< gets the changed instances; null: nothing is watched
};

struct EngineState {
  /// Results of publishes and of webhooks are put into `intake`, which outlives the object.
  EngineState(EngineParts parts, const EngineOptions& options, Intake& intake);

  const Clock& clock;
  UnitMeter meter;
  BatchCount batches;
  Damages damages;
  Transaction tx;
  Catalog catalog;
  WaitIndex waiting;
  LiveCounts live;
  Dedupe dedupe;
  KeptEvents kept_events;
  TaskDispatch tasks;
  WebhookOutbox webhook_outbox;
  CrashNote crash_note;
  Outbox outbox;
  Batch batch;
  DueTimers timers;
};

}  // namespace millrace
