// BatchState: the state of the batch that is being built: the transaction and its caches, the
// numbers that the batch assigned, the messages to publish, and the actions after the commit. All
// parts of a batch (batch.h) write into one BatchState. Engine thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/batch_notes.h"
#include "base/result.h"
#include "matchers/match_budget.h"
#include "model/dead_letter.h"
#include "model/effect.h"
#include "model/request_subjects.h"
#include "model/work_lane.h"
#include "orchestrator/batch/archive_queue.h"
#include "orchestrator/batch/batch_outcome.h"
#include "orchestrator/batch/crash_note.h"
#include "orchestrator/batch/origins.h"
#include "orchestrator/batch/staged_values.h"
#include "orchestrator/batch/unit_meter.h"
#include "orchestrator/engine/engine.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/memory/damages.h"
#include "orchestrator/memory/dedupe.h"
#include "orchestrator/memory/kept_events.h"
#include "orchestrator/memory/live_counts.h"
#include "orchestrator/memory/wait_index.h"
#include "orchestrator/outgoing/outbox.h"
#include "orchestrator/outgoing/task_dispatch.h"
#include "orchestrator/outgoing/webhook_outbox.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/effect_rows.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// Makes a random id for an instance that starts at the given time: one whose id follows neither
/// from an event (event_start_id.h) nor from its caller (states/child_id.h).
using IdMaker = std::function<InstanceId(TimePoint)>;

/// The store, its caches, and the other objects that a batch needs. All these objects outlive the
/// batch.
struct BatchParts {
  Transaction& tx;
  Catalog& catalog;
  WaitIndex& waiting;
  LiveCounts& live;
  Dedupe& dedupe;
  KeptEvents& kept_events;
  TaskDispatch& tasks;
  WebhookOutbox& webhook_outbox;
  CrashNote& crash_note;
  Damages& damages;
  const BatchCount& batches;
  UnitMeter& meter;
  IdMaker make_id;
  std::string id_key;  ///< see Lookup::id_key
  EngineLimits limits;
  RequestSubjects request_subjects = {};  ///< the subjects that new settings may name
  WatchRing* watch = nullptr;             ///< for changed instances; null: nothing is watched
};

/// An instance message in the queue (instance_messages.h).
struct QueuedMessage {
  InstanceMessage message;
  ListenFrom listen_from;  ///< of StartChild: the subflow gets kept events after this position
  WorkLane lane;           ///< of the instance that sent it; without the workflow if the message
                           ///< was read from the store
  uint64_t row = 0;        ///< number of its row in `inbox`; 0: created in this batch
};

/// An instance whose search through its kept events has used up the budget of the batch, or which
/// has taken as many of them as one unit of work should give it.
struct UnfinishedSearch {
  NamespaceNumber ns{};
  InstanceId instance;
  uint64_t number = 0;  ///< of the kept event at which the search goes on
};

/// The budget of one batch for the search of instances through their kept events.
inline constexpr MatchBudget kKeptBudget{
    .has_long_runs = true, .steps = 100'000, .bytes = size_t{4} << 20};

struct BatchState : BatchParts {
  explicit BatchState(BatchParts parts) : BatchParts(std::move(parts)) {}

  std::string_view message_key = tx.seal().message_key();  ///< see message_id()
  Cursor cursor;                                           ///< how far the event stream is applied
  uint32_t stream = 0;  ///< the number of the event stream (stream_rows.h); 0: none was opened
  BatchOutcome outcome;
  std::deque<QueuedMessage> messages;    ///< of the current unit of work
  std::map<Counter, uint64_t> counters;  ///< current values of the counters that the batch used
  /// The keys with a start that waits, of which this unit of work has freed a slot, or whose
  /// throttle may permit a start.
  std::vector<SlotKey> woken;
  bool has_due_throttle = false;  ///< the timer of the throttles has fired in this unit of work
  /// The workflows of which more starts may get a slot since this unit of work.
  std::vector<WorkflowNumber> reviewed;
  /// The keys with a call that waits, of which this unit of work has freed a slot, or whose
  /// throttle may permit a call.
  std::vector<CallSlotKey> woken_calls;
  bool has_due_call_throttle = false;  ///< the timer of their throttles has fired, likewise
  /// The namespaces of which more calls may get a slot since this unit of work.
  std::vector<NamespaceNumber> reviewed_calls;
  IndexChanges index;
  /// The bytes of namespaces that count for the quota `storeBytes`, as they were when the current
  /// batch first needed them. Most rows are written at the end of a batch, so one batch may exceed
  /// the quota.
  BatchNotes<std::map<NamespaceNumber, uint64_t>> stored_bytes{batches};
  std::vector<PlacedEffect> effects;  ///< of events on instances and starts
  /// The newest history rows that were trimmed from the histories of instances; a purge erases each
  /// of them with its earlier rows.
  std::vector<std::pair<NamespaceNumber, uint64_t>> trimmed_rows;
  /// The instances that have dropped more compensations than the batch erases: a purge erases the
  /// others.
  std::vector<DroppedCompensations> dropped_compensations;
  /// The purges of pieces of values that no variable gets any more.
  std::vector<Purge> dropped_pieces;
  StagedGroups staged{batches};  ///< of values of answers that have not come yet
  bool trims_histories = true;   ///< false: too many purges wait, so no history is trimmed
  RetentionPlan retention;       ///< set by Retention
  /// Whether timers may be due that have not fired: then the timers of an instance, and the
  /// lifespans in a group, that end before an event fire when that event reaches them.
  bool has_unfired_timers = true;
  TimePoint loaded_at;  ///< when the caches were loaded: at the start of the process, or later
  ArchiveQueue archive{batches};
  Origins origins{tx, damages};           ///< of the events of sources
  MatchBudget kept_budget = kKeptBudget;  ///< what is left of it in this batch
  size_t late_events = 0;                 ///< kept events for which LateMatches has something to do
  /// When StartRates::sweep() has something to do. Only a hint: after a lost batch it may be late.
  TimePoint start_rates_due;
  std::vector<UnfinishedSearch> unfinished;  ///< searches that LateMatches must take over

  /// Assigns the next number of the counter, and returns it.
  Result<uint64_t> next(Counter counter);
  /// Returns the number that the counter assigned most recently.
  Result<uint64_t> last(Counter counter);

  /// The position of an event of the open stream.
  EventPosition position_of(uint64_t sequence) const { return {stream, sequence}; }
  /// The position from which an instance listens that changes now.
  ListenFrom listen_from_now() const {
    return {.kept = kept_events.last(), .event = position_of(cursor.sequence)};
  }
  /// Notes an effect that an event had. The events of older releases have no position.
  void note_effect(const EventPosition& event, const EventEffect& effect) {
    if (event.stream != 0) effects.push_back({event, effect});
  }
  /// Discards what the batch has collected.
  void discard();

  /// Turns an effect of a step of `instance` into a row of the batch, an instance message, or an
  /// action after the commit.
  Status stage(const Instance& instance, Effect effect);
  void after_commit(AfterCommit action) { outcome.actions.push_back(std::move(action)); }
  /// Notes the instance, which the batch writes or deletes, for clients that watch.
  void show(const Instance& instance, bool is_deleted = false);

  /// Puts a generated event into the outbox.
  Status publish(NamespaceNumber ns, const InstanceId& instance, const Event& event, bool sealed);
  Status dead_letter(const DeadLetter& letter, bool sealed = false);
  Status send(OutboxRecord record);
  /// Publishes lifecycle events about `instance`, and queues its webhooks, as the settings of the
  /// namespace require. `first` is the number of the first record in the instance's history.
  Status publish_lifecycle(const Instance& instance, std::span<const HistoryRecord> records,
                           uint64_t first);
  /// Counts what the records of a step say about compensations.
  void count_compensations(std::span<const HistoryRecord> records);
};

}  // namespace millrace
