// Batch: inputs in, one transaction out. It finds what each input concerns, has the engine step
// those instances, and writes what changed: instances, history, groups, outbox, dedupe, cursor,
// time. Nothing leaves before the transaction is committed; what is to be done then is in Outcome.
// Engine thread only.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/input.h"
#include "orchestrator/runtime/commands.h"
#include "orchestrator/runtime/draft.h"
#include "orchestrator/runtime/groups.h"
#include "orchestrator/runtime/instances.h"

namespace millrace {

class Batch {
 public:
  explicit Batch(BatchParts parts) : draft_(std::move(parts)) {}

  /// Begins at the stored cursor.
  Status load();

  /// Applies one input. An error is one of the store's: the batch is lost, and so are the caches.
  Status apply(const Input& input);

  /// What follows comes from the stream of that creation time; another one is read from its start.
  void stream_opened(int64_t stream_created);

  /// Writes what the batch gathered; the caller commits.
  Result<BatchOutcome> finish(TimePoint now);

  const Cursor& cursor() const { return draft_.cursor; }

 private:
  Status apply(TimePoint now, const EventInput& input);
  Status apply(TimePoint now, const UnreadableInput& input);
  Status apply(TimePoint now, const TimerInput& input);
  Status apply(TimePoint now, const EvaluatedInput& input);
  Status apply(TimePoint now, const ContinueInput& input);
  Status apply(TimePoint now, const CommandInput& input);

  Status fire(TimePoint now, TimePoint deadline, const TimerInput::OfInstance& owner);
  Status fire(TimePoint now, TimePoint deadline, const TimerInput::OfDelayedEvent& owner);
  Status fire(TimePoint now, TimePoint deadline, const TimerInput::OfGroupedEvent& owner);

  /// Whether the event concerned that start.
  Result<bool> offer_start(TimePoint now, const EventInput& input, const StartTarget& target);
  void moved_to(uint64_t sequence, TimePoint stamped);

  Draft draft_;
  Instances instances_{draft_};
  Groups groups_{draft_, instances_};
  Commands commands_{draft_, instances_, groups_};
  bool cursor_moved_ = false;  ///< since it was written
  uint32_t batches_without_effect_ = 0;
};

}  // namespace millrace
