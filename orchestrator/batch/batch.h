// Batch: inputs in, one transaction out. It finds what each input concerns, has the engine step
// those instances, and writes what changed: instances, history, groups, outbox, dedupe, cursor,
// time. Nothing leaves before the transaction is committed; what is to be done then is in its
// outcome. Engine thread only.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/errands.h"
#include "orchestrator/batch/event_router.h"
#include "orchestrator/batch/fan_outs.h"
#include "orchestrator/batch/groups.h"
#include "orchestrator/batch/input.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/purges.h"
#include "orchestrator/batch/schedules.h"
#include "orchestrator/batch/task_inputs.h"
#include "orchestrator/batch/timer_inputs.h"

namespace millrace {

/// How much may be done in one batch, so that none holds up what comes after it
/// (ARCHITECTURE "The walk of one event").
struct BatchLimits {
  size_t woken = 1'000;      ///< by one event; more than that, and it is worked off batch by batch
  size_t woken_later = 250;  ///< of those
  size_t errands = 250;      ///< of instances with each other; the rest is left to the next batch
};

/// The error, and the reason of the dead letter, of what the process has died of.
inline constexpr std::string_view kPoison = "millrace.poison";

class Batch {
 public:
  Batch(BatchParts parts, BatchLimits limits)
      : draft_(std::move(parts)), limits_(limits), before_(draft_.batches) {}

  /// Begins at the stored cursor, with what the store says is unfinished. The caches are loaded.
  Status load();

  /// Goes on with what was too much for one batch: the errands of instances, then the events with
  /// too many targets.
  Status go_on(TimePoint now);
  /// Goes on with what deletions have left to erase.
  Status purge() { return purges_.go_on(); }

  /// As TimerInputs has it.
  Result<bool> may_be_overtaken(TimePoint now, const TimerInput& timer) {
    return timer_inputs_.may_be_overtaken(now, timer);
  }

  /// Whether its events have woken so many instances that the next ones should wait for the next
  /// batch.
  bool is_full() const { return woken_ >= limits_.woken; }

  /// Applies one input and the errands that it makes: an event, a message that is not one, a due
  /// timer, the results of an evaluation, a report of a task or its silence, a command, or an
  /// instance that is to go on. An error is one of the store's: the batch is lost.
  template <class Input>
  Status apply(TimePoint now, const Input& input) {
    TRY(take(now, input));
    return draft_.errands.empty() ? Status() : errands_.run(now);
  }

  /// Fails an instance that the process has died of; false: it does not live.
  Result<bool> set_aside(TimePoint now, NamespaceNumber space, const InstanceId& id);

  /// Makes a dead letter of a CloudEvent that a URL has not taken.
  Status set_aside(const HookRecord& hook, const Error& reason);

  /// What follows in the event stream comes behind this position, which may be an earlier one.
  void stream_opened(const Cursor& position);

  /// Writes what the batch gathered; the caller commits.
  Result<BatchOutcome> finish(TimePoint now);

  /// The batch is lost. The caches are as the store by then.
  Status undo();

  const Cursor& cursor() const { return draft_.cursor; }

 private:
  Status take(TimePoint now, const EventInput& input);
  Status take(TimePoint now, const UnreadableInput& input);
  Status take(TimePoint now, const TimerInput& input) { return timer_inputs_.take(now, input); }
  Status take(TimePoint now, const EvaluatedInput& input);
  Status take(TimePoint now, const TaskInput& input) { return task_inputs_.take(now, input); }
  Status take(TimePoint now, const SilenceInput& input) { return task_inputs_.take(now, input); }
  Status take(TimePoint now, const ContinueInput& input);
  Status take(TimePoint now, const CommandInput& input);

  Status refuse(const EventInput& input);
  /// Takes the event where the router sends it.
  Status send_to(TimePoint now, uint64_t sequence, const EventRoute& route);

  /// Whether the event concerned that start.
  Result<bool> offer_start(TimePoint now, uint64_t sequence, const Event& event,
                           const StartTarget& target);
  /// Whether the event, which is `kept` or not, woke it.
  Result<bool> offer(TimePoint now, const Event& event, const InstanceTarget& target, bool kept);
  void moved_to(uint64_t sequence, TimePoint stamped);
  void note_cursor();

  Draft draft_;
  RouteViews views_{draft_.catalog, draft_.waiting, draft_.recent, draft_.dedupe};
  BatchLimits limits_;
  Instances instances_{draft_};
  FanOuts fan_outs_{draft_, instances_};
  Errands errands_{draft_, instances_};
  Groups groups_{draft_, instances_};
  Schedules schedules_{draft_, instances_};
  TimerInputs timer_inputs_{draft_, instances_, fan_outs_, groups_, schedules_};
  TaskInputs task_inputs_{draft_, instances_, timer_inputs_};
  Purges purges_{draft_, groups_};
  size_t woken_ = 0;           ///< by events of the batch in hand
  bool cursor_moved_ = false;  ///< since it was written
  /// As the last commit left them. The cursor may be ahead of the one that is written.
  struct CursorBefore {
    Cursor cursor;
    bool moved = false;
  };
  BatchNotes<std::optional<CursorBefore>> before_;
  uint32_t batches_without_effect_ = 0;
};

}  // namespace millrace
