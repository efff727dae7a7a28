// Batch: applies inputs and puts all changes into one transaction. For each input it finds the
// instances concerned, lets the engine step them, and writes every change: instances, history,
// groups, outbox, deduplication ids, cursor, time. Nothing is sent before the transaction is
// committed; the actions to perform after the commit are in BatchOutcome. Engine thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/work_budget.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/call_queues.h"
#include "orchestrator/batch/event_rates.h"
#include "orchestrator/batch/event_router.h"
#include "orchestrator/batch/fan_outs.h"
#include "orchestrator/batch/groups.h"
#include "orchestrator/batch/input.h"
#include "orchestrator/batch/instance_messages.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/late_matches.h"
#include "orchestrator/batch/purges.h"
#include "orchestrator/batch/retention.h"
#include "orchestrator/batch/schedules.h"
#include "orchestrator/batch/start_inputs.h"
#include "orchestrator/batch/start_queues.h"
#include "orchestrator/batch/task_inputs.h"
#include "orchestrator/batch/timer_inputs.h"

namespace millrace {

/// Limits on the work in one batch, so that no batch delays the inputs after it for long
/// (ARCHITECTURE "Work beyond one step").
struct BatchLimits {
  /// One event wakes at most this many at once; an event that matches more is a fan-out.
  size_t woken = 1'000;
  size_t woken_later = 250;     ///< instances that one batch wakes for fan-outs
  size_t admitted = 250;        ///< starts that have waited and that one batch admits
  size_t admitted_calls = 250;  ///< calls that one batch gives a slot for which they have waited
  /// An event that more instances wait for is a fan-out if its unit of work ends before all of them
  /// have got it. An event for more starts is offered to the others as a late match.
  size_t offered_in_one_unit = 16;
  /// The same for an event whose bytes, times the number of its targets, are more: each target
  /// reads and writes them. A single target gets any event at once.
  size_t bytes_in_one_unit = size_t{256} << 10;
  /// Instance messages that one batch processes; further ones wait for the next batch.
  size_t messages = 250;
  MatchBudget match = {};          ///< of one event, when it is applied
  MatchBudget kept = kKeptBudget;  ///< of one batch, for kept events
  LateLimits late = {};
};

/// If the process died repeatedly of one input: the error code of the instance that is failed, or
/// the reason of the event's dead letter.
inline constexpr std::string_view kPoison = "millrace.poison";

class Batch {
 public:
  Batch(BatchParts parts, BatchLimits limits)
      : batch_(std::move(parts)), limits_(limits), before_(batch_.batches) {}

  /// Reads the cursor and the unfinished work (purges, instance messages, fan-outs, late matches)
  /// from the store.
  /// Precondition: the caches are loaded.
  Status load();

  /// The lanes with work that exceeded the limits of units and of earlier batches: instance
  /// messages, late matches, targets of fan-outs, starts that may begin and calls that may get a
  /// slot.
  std::vector<WorkLane> unfinished() const;
  /// Whether the lane has such work that this batch may still do.
  bool may_go_on(const WorkLane& lane) const {
    return messages_.may_go_on(lane) || late_matches_.may_go_on(lane) ||
           fan_outs_.may_go_on(lane) || queues_.may_go_on(lane) || calls_.may_go_on(lane);
  }
  /// Does a unit of such work: first instance messages, then late matches, then fan-outs, then
  /// starts that wait, and calls that wait for slots. Precondition: may_go_on().
  Status go_on(TimePoint now, const WorkLane& lane);

  /// Whether ended instances whose lines are in the archive must still be deleted.
  bool has_archived() const { return batch_.archive.next() != nullptr; }

  // Each of these functions does one portion, which `unit` ends early; null: only counts end it.

  /// Continues the purges of one namespace. Returns whether another portion, of the next namespace,
  /// can follow in this batch.
  Result<bool> purge(const WorkBudget* unit = nullptr) { return purges_.go_on(unit); }
  /// Deletes ended instances whose lines are in the archive.
  Status delete_archived(const WorkBudget* unit = nullptr);
  /// Deletes ended instances and trims histories that the settings of their namespaces no longer
  /// keep. To be called after all inputs of the batch. Returns whether another portion can follow
  /// in this batch.
  Result<bool> retain(TimePoint now, const WorkBudget* unit = nullptr) {
    return retention_.go_on(now, unit);
  }

  /// See TimerInputs::may_be_overtaken().
  Result<bool> may_be_overtaken(TimePoint now, const TimerInput& timer) {
    return timer_inputs_.may_be_overtaken(now, timer);
  }

  /// To be called when due timers were fired: `left` says whether some may be left for later. While
  /// some are left, an event that reaches an instance or a group first fires their own timers with
  /// a deadline up to the event's timestamp.
  void note_unfired_timers(bool left) { batch_.has_unfired_timers = left; }

  /// To be called when the caches were loaded. The searches for early events before have no result.
  void note_loaded(TimePoint at) { batch_.loaded_at = at; }

  /// Whether the events of this batch have woken as many instances as BatchLimits::woken: then
  /// further events should wait for the next batch.
  bool is_full() const { return woken_ >= limits_.woken; }

  /// Applies one input and the instance messages that it creates. An input is an event, an
  /// unreadable message, a due timer, the results of an evaluation, a report of a task, a missed
  /// heartbeat, a command, or an instance that must continue. Errors: those of the store; after an
  /// error the batch is lost.
  template <class Input>
  Status apply(TimePoint now, const Input& input) {
    TRY(apply_input(now, input));
    if (!batch_.messages.empty()) TRY(messages_.run(now));
    TRY(give_slots(now));
    return batch_.unfinished.empty() ? Status() : late_matches_.take_over();
  }

  /// Fails an instance whose steps made the process die repeatedly. Returns false if no live
  /// instance with undamaged rows has that id.
  Result<bool> abandon_instance(TimePoint now, NamespaceNumber ns, const InstanceId& id);

  /// Publishes a webhook's CloudEvent as a dead letter after the receiver's URL did not accept it.
  Status give_up_webhook(const WebhookRecord& webhook, const Error& reason);

  /// Sets the cursor to `position`, after which the opened event stream continues, and gives a new
  /// stream a number. The position may be before the current cursor. Errors: those of the store.
  Status stream_opened(const Cursor& position);

  /// Writes the collected changes into the transaction; the caller commits the transaction.
  Result<BatchOutcome> finish(TimePoint now);

  /// Undoes the changes of a batch that was lost. Precondition: the caches match the store again.
  Status undo();

  const Cursor& cursor() const { return batch_.cursor; }

 private:
  Status give_slots(TimePoint now);
  Status apply_input(TimePoint now, const EventInput& input);
  Status apply_input(TimePoint now, const UnreadableInput& input);
  Status apply_input(TimePoint now, const TimerInput& input) {
    return timer_inputs_.apply_input(now, input);
  }
  Status apply_input(TimePoint now, const EvaluatedInput& input);
  Status apply_input(TimePoint now, const TaskInput& input) {
    return task_inputs_.apply_input(now, input);
  }
  Status apply_input(TimePoint now, const MissedHeartbeatInput& input) {
    return task_inputs_.apply_input(now, input);
  }
  Status apply_input(TimePoint now, const ContinueInput& input);
  Status apply_input(TimePoint now, const ArchivedPage& page);
  Status apply_input(TimePoint now, const CommandInput& input);

  Result<bool> fire_before(TimePoint now, const EventInput& input, const EventRoute& route);
  Result<bool> accept_origin(const EventInput& input);
  Status refuse(const EventInput& input, Error reason);
  Result<std::optional<Error>> over_rate(const EventRoute& route, TimePoint stamped);
  /// Applies the event to the targets that the router found.
  Status send_to(TimePoint now, const AppliedEvent& applied, const EventRoute& route);

  /// Whether the event has too many bytes to be offered to all its targets in one unit of work.
  bool has_many_bytes(const EventRoute& route) const;
  /// Offers the event to a waiting instance. Returns whether the event woke the instance. `kept`:
  /// the event is also stored as a kept event.
  Result<bool> offer(TimePoint now, const EventPosition& position, const EventRoute& route,
                     const InstanceTarget& target, bool kept);
  void begin_limits();
  Status write_effects();
  /// Whether effects without other changes have waited long enough for a commit.
  bool are_effects_due(TimePoint now) const { return effects_at_ && *effects_at_ <= now; }
  /// Sets effects_at_, as the end of a batch has left the effects.
  std::optional<TimePoint> next_effects_at(TimePoint now) {
    const TimePoint at = effects_at_.value_or(now + kMostWaitOfEffects);
    effects_at_ = batch_.effects.empty() ? std::nullopt : std::optional(at);
    return effects_at_;
  }
  Status load_newest();
  bool is_newest(const EventInput& input);
  void moved_to(uint64_t sequence, TimePoint stamped);
  void note_cursor();

  BatchState batch_;
  const OnDamage note_damage_ = batch_.damages.noting();
  RouteViews views_{batch_.catalog, batch_.waiting, batch_.kept_events, batch_.dedupe};
  BatchLimits limits_;
  EventRates rates_{batch_};
  Instances instances_{batch_};
  FanOuts fan_outs_{batch_, instances_};
  StartQueues queues_{batch_, instances_};
  CallQueues calls_{batch_, instances_};
  InstanceMessages messages_{batch_, instances_};
  Groups groups_{batch_, instances_};
  StartInputs starts_{batch_, instances_, groups_};
  LateMatches late_matches_{batch_, instances_, starts_, limits_.late};
  Schedules schedules_{batch_, instances_};
  TimerInputs timer_inputs_{batch_, instances_, fan_outs_, groups_, schedules_};
  TaskInputs task_inputs_{batch_, instances_, timer_inputs_};
  Purges purges_{batch_, groups_, instances_};
  Retention retention_{batch_, purges_, instances_};
  bool counts_rates_ = false;  ///< whether rates_ has ever counted an event
  size_t woken_ = 0;           ///< instances woken by events of the current batch
  bool cursor_moved_ = false;  ///< whether the cursor moved since it was last written
  /// The cursor and cursor_moved_ as of the last commit. That cursor may be ahead of the cursor on
  /// disk.
  struct CursorBefore {
    Cursor cursor;
    uint32_t stream = 0;
    bool moved = false;
  };
  BatchNotes<std::optional<CursorBefore>> before_;
  uint32_t batches_without_effect_ = 0;
  /// No event with a higher stored time, or with this time and a higher sequence, has started an
  /// instance that the store has.
  std::pair<TimePoint, uint64_t> newest_;
  /// The first event whose effects are not written yet.
  std::optional<EventPosition> first_applied_;
  EventPosition oldest_effects_;  ///< before it there are no rows in `effects`
  /// How long effects wait for a batch that changes something else.
  static constexpr Duration kMostWaitOfEffects{1'000};
  /// The engine time at which a batch writes the effects that wait, also if it changes nothing
  /// else; nullopt: none wait.
  std::optional<TimePoint> effects_at_;
};

}  // namespace millrace
