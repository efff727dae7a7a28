// Draft: one commit in the making. The transaction and the caches that go with it, the numbers that
// were given out, the messages that are to leave, and what is to be done once it is on disk. The
// parts of a batch (batch.h) all write into the same one. Engine thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/batch_notes.h"
#include "base/result.h"
#include "model/dead_letter.h"
#include "model/effect.h"
#include "orchestrator/batch/batch_outcome.h"
#include "orchestrator/batch/crash_note.h"
#include "orchestrator/engine/engine.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/memory/damages.h"
#include "orchestrator/memory/dedupe.h"
#include "orchestrator/memory/kept_events.h"
#include "orchestrator/memory/live_counts.h"
#include "orchestrator/memory/wait_index.h"
#include "orchestrator/outgoing/outbox.h"
#include "orchestrator/outgoing/task_dispatch.h"
#include "orchestrator/outgoing/webhooks.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// Makes the id of an instance that starts at that time.
using IdMaker = std::function<InstanceId(TimePoint)>;

/// The store, its caches, and what else a batch needs. All of them outlive it.
struct BatchParts {
  Transaction& tx;
  Catalog& catalog;
  Waiting& waiting;
  Living& living;
  Dedupe& dedupe;
  Recent& recent;
  Tasks& tasks;
  Hooks& hooks;
  InHand& in_hand;
  Damages& damages;
  const BatchCount& batches;
  IdMaker make_id;
  std::string id_key;  ///< Lookup::id_key
  EngineLimits limits;
};

/// One of those that wait (errands.h).
struct QueuedErrand {
  Errand errand;
  uint64_t listen_from = 0;  ///< of a child: what comes behind this may concern it
  uint64_t row = 0;          ///< in `inbox`; 0: it was made in this batch
};

struct Draft : BatchParts {
  explicit Draft(BatchParts parts) : BatchParts(std::move(parts)) {}

  Cursor cursor;  ///< how far the event stream is applied
  BatchOutcome outcome;
  std::deque<QueuedErrand> errands;
  std::map<Counter, uint64_t> counters;  ///< those that were used, as they now stand

  /// The next number of that kind.
  Result<uint64_t> next(Counter counter);
  /// The one that was given last.
  Result<uint64_t> last(Counter counter);

  /// Sorts what a step of that instance asks for: into a row of the batch, an errand for another
  /// instance, or an action for after the commit.
  Status stage(const Instance& instance, Effect effect);
  void after_commit(AfterCommit action) { outcome.actions.push_back(std::move(action)); }

  /// Puts a message into the outbox.
  Status publish(NamespaceNumber space, const InstanceId& instance, const Event& event,
                 bool sealed);
  Status dead_letter(const DeadLetter& letter, bool sealed = false);
  Status send(OutboxRecord record);
  /// Tells what happened to an instance, as its namespace wants it told. `first` is the number of
  /// the first record in its history.
  Status tell(const Instance& instance, std::span<const HistoryRecord> records, uint64_t first);
};

}  // namespace millrace
