// Batch: inputs in, one transaction out. It finds what each input concerns, has the engine step
// those instances, and writes what changed: instances, history, groups, outbox, dedupe, cursor,
// time. Nothing leaves before the transaction is committed; what is to be done then is in Outcome.
// Engine thread only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/effect.h"
#include "model/input.h"
#include "orchestrator/engine/engine.h"
#include "orchestrator/runtime/catalog.h"
#include "orchestrator/runtime/dedupe.h"
#include "orchestrator/runtime/recent.h"
#include "orchestrator/runtime/waiting.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// Makes the id of an instance that starts at that time.
using IdMaker = std::function<InstanceId(TimePoint)>;

/// What happened, for the metrics.
struct BatchCounts {
  uint64_t events = 0;
  uint64_t events_unmatched = 0;
  uint64_t events_duplicate = 0;
  uint64_t events_unreadable = 0;
  uint64_t instances_started = 0;
  uint64_t instances_woken = 0;
  uint64_t timers_fired = 0;
  uint64_t published = 0;
  uint64_t dead_letters = 0;
  uint64_t groups_closed = 0;       ///< events of eventsAnd groups that a new revision closed
  std::array<uint64_t, 8> ended{};  ///< by InstanceStatus
};

/// What is to be done once the batch is on disk.
struct BatchOutcome {
  std::vector<Effect> effects;            ///< Evaluate and Answer; the others are rows
  std::vector<ContinueInput> unfinished;  ///< to be given to the next batch
  std::vector<std::pair<NamespaceNumber, InstanceId>> ended;
  bool has_outbox = false;
  BatchCounts counts;
};

class Batch {
 public:
  /// All of these outlive it. `limits` may not change while it is used.
  struct Parts {
    Transaction& tx;
    Catalog& catalog;
    Waiting& waiting;
    Dedupe& dedupe;
    Recent& recent;
    IdMaker make_id;
    EngineLimits limits;
  };

  explicit Batch(Parts parts) : parts_(std::move(parts)) {}

  /// Begins at the stored cursor.
  Status load();

  /// Applies one input. An error is one of the store's: the batch is lost, and so are the caches.
  Status apply(const Input& input);

  /// What follows comes from the stream of that creation time; another one is read from its start.
  void stream_opened(int64_t stream_created);

  /// Writes what the batch gathered; the caller commits.
  Result<BatchOutcome> finish(TimePoint now);

  const Cursor& cursor() const { return cursor_; }

 private:
  /// An instance that this batch has read or made, and how its rows stood then.
  struct Touched {
    Instance instance;
    bool is_new = false;
    bool changed = false;
    std::shared_ptr<const std::string> data;  ///< its text as read
    bool had_slots = false;
    std::vector<HistoryRecord> history;
  };

  Status apply(TimePoint now, const EventInput& input);
  Status apply(TimePoint now, const UnreadableInput& input);
  Status apply(TimePoint now, const TimerInput& input);
  Status apply(TimePoint now, const EvaluatedInput& input);
  Status apply(TimePoint now, const ContinueInput& input);
  Status apply(TimePoint now, const CommandInput& input);

  Status fire(TimePoint now, TimePoint deadline, const TimerInput::OfInstance& owner);
  Status fire(TimePoint now, TimePoint deadline, const TimerInput::OfDelayedEvent& owner);
  Status fire(TimePoint now, TimePoint deadline, const TimerInput::OfGroupedEvent& owner);

  Result<Json> command(TimePoint now, const ApplyWorkflow& command);
  Result<Json> command(TimePoint now, const DeleteWorkflow& command);
  Result<Json> command(TimePoint now, const StartInstance& command);
  Result<Json> command(TimePoint now, const CreateNamespace& command);
  Result<Json> command(TimePoint now, const DeleteNamespace& command);

  Result<NamespaceNumber> space_of(std::string_view name) const;
  Result<const WorkflowEntry*> workflow_of(std::string_view space, std::string_view id) const;

  /// Both: whether the event concerned that start.
  Result<bool> offer_start(TimePoint now, const EventInput& input, const StartTarget& target);
  Result<bool> offer_group(TimePoint now, const EventInput& input, const WorkflowEntry& entry,
                           const Workflow& workflow, const std::vector<size_t>& entries);
  Status start_group(TimePoint now, const EventInput& input, const WorkflowEntry& entry,
                     const Workflow& workflow, const Fingerprint& group,
                     std::vector<uint32_t> waiting);
  Result<InstanceId> start(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                           Json data, Json how, std::string idempotency_key);

  /// The living instance, from this batch or the store; null if there is none.
  Result<Touched*> touch(NamespaceNumber space, const InstanceId& id);
  /// Whether the stimulus changed it; one that is stale does not. Both: an instance that begins to
  /// listen is offered what was kept for it.
  Result<bool> step_instance(TimePoint now, Touched& touched, const Stimulus& stimulus);
  Result<bool> step_once(TimePoint now, Touched& touched, const Stimulus& stimulus);
  Status offer_recent(TimePoint now, Touched& touched);
  Result<size_t> cancel_living(TimePoint now, NamespaceNumber space,
                               std::optional<WorkflowNumber> workflow, bool may_cancel,
                               const Error& refusal);
  Status close_groups_of(const WorkflowEntry& entry, const std::string& space);
  Status forget_delayed(NamespaceNumber space);
  Status take(const InstanceId& instance, const Publish& publish);
  Status publish(NamespaceNumber space, const InstanceId& instance, const Event& event);
  Status send(const OutboxRecord& record);
  Status dead_letter(const DeadLetter& letter);
  Result<uint64_t> next(Counter counter);
  void moved_to(uint64_t sequence, TimePoint stamped);

  Parts parts_;
  Cursor cursor_;
  bool cursor_moved_ = false;  ///< since it was written
  uint32_t batches_without_effect_ = 0;
  std::map<InstanceId, Touched> touched_;  // ordered: what is written has a fixed order
  std::map<Counter, uint64_t> counters_;
  BatchOutcome outcome_;
};

}  // namespace millrace
