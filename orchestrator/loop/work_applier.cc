#include "orchestrator/loop/work_applier.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include "orchestrator/outgoing/messages.h"
#include "os/crash_point.h"

namespace millrace {

/// Applies inputs in a fixed order (docs/ARCHITECTURE.md): work that an earlier batch left, events
/// with the timers that come before them, timers, commands, results. Acknowledgements and webhook
/// results come first; they step no instance.
Result<BatchOutcome> WorkApplier::apply(Work& work, Work& left, const TurnState& turn) {
  using OnAck = Outbox::OnAck;
  const TimePoint now = turn.now;
  TRY(apply_acks(work, now, turn.store_is_full ? OnAck::kErase : OnAck::kKeep));
  TRY(apply_webhook_results(work.webhook_results, now));
  if (turn.backlog.has_steps && turn.takes_new_work) TRY(engine_.batch.go_on(now));
  for (const ContinueInput& one : work.continues) TRY(engine_.batch.apply(now, one));
  TRY(apply_deliveries(work.deliveries, left, turn));
  TRY(fire_until(now, turn, is_behind(left)));
  TRY(apply_commands(work.commands, now));
  for (const EvaluatedInput& one : work.evaluated) {
    TRY(engine_.batch.apply(now, one));
    crash_point(CrashPoint::kResultApplied);
  }
  TRY(apply_tasks(work.tasks, now));
  for (const ArchivedPage& page : work.archived) TRY(engine_.batch.apply(now, page));
  const bool has_archived = turn.backlog.has_archived || !work.archived.empty();
  if (has_archived) TRY(engine_.batch.delete_archived());
  // What waited for the archive may go on.
  if (turn.backlog.has_purges || has_archived) TRY(engine_.batch.purge());
  // A command may have changed the settings.
  const RetentionPlan& plan = turn.backlog.retention;
  const bool begins_pass = plan.next_pass && *plan.next_pass <= now;
  if (plan.has_steps || begins_pass || has_archived || !work.commands.empty()) {
    TRY(engine_.batch.retain(now));
  }
  return engine_.batch.finish(now);
}

Result<BatchOutcome> WorkApplier::make_room(const Work& work, TimePoint now) {
  TRY(apply_acks(work, now, Outbox::OnAck::kErase));
  engine_.outbox.drop_acked(engine_.tx);
  TRY(apply_commands(work.commands, now));
  for (const ArchivedPage& page : work.archived) TRY(engine_.batch.apply(now, page));
  TRY(engine_.batch.delete_archived());
  TRY(engine_.batch.purge());
  TRY(engine_.batch.retain(now));
  return engine_.batch.finish(now);
}

/// Acknowledgements are applied before stream changes: the state of the stream that a change has
/// includes all messages that were acknowledged before millrace requested the state.
Status WorkApplier::apply_acks(const Work& work, TimePoint now, Outbox::OnAck on_ack) {
  Outbox& outbox = engine_.outbox;
  for (const auto& [number, ack, openings] : work.acks) {
    TRY(outbox.on_ack(engine_.tx, number, ack, openings, engine_.clock.elapsed(), on_ack));
    crash_point(CrashPoint::kAckApplied);
  }
  outbox.end_settling(engine_.tx, engine_.batch.cursor().stream_created, now);
  for (const auto& [opened, openings] : work.stream_changes) {
    if (!opened) continue;
    outbox.stream_opened(engine_.tx, opened->position.stream_created, opened->intact_to, openings);
  }
  return {};
}

/// A webhook event that is given up becomes a dead letter.
Status WorkApplier::apply_webhook_results(const std::vector<WebhookResult>& results,
                                          TimePoint now) {
  for (const WebhookResult& result : results) {
    const auto given_up = TRY(engine_.webhook_outbox.on_result(engine_.tx, result, now));
    crash_point(CrashPoint::kDeliveryApplied);
    if (given_up) TRY(engine_.batch.give_up_webhook(*given_up, result.failure->error));
  }
  return {};
}

/// Applies as many deliveries as one batch should; the others are left for the next batch.
Status WorkApplier::apply_deliveries(std::vector<Delivery>& deliveries, Work& left,
                                     const TurnState& turn) {
  auto next = deliveries.begin();
  for (; next != deliveries.end() && !engine_.batch.is_full(); ++next) TRY(apply(*next, turn));
  left.deliveries.insert(left.deliveries.begin(), std::make_move_iterator(next),
                         std::make_move_iterator(deliveries.end()));
  deliveries.erase(next, deliveries.end());
  return {};
}

Status WorkApplier::apply(const Delivery& delivery, const TurnState& turn) {
  if (const auto* event = std::get_if<EventInput>(&delivery)) return apply_event(*event, turn);
  if (const auto* unreadable = std::get_if<UnreadableInput>(&delivery)) {
    caught_up_ = !unreadable->more;
    return engine_.batch.apply(turn.now, *unreadable);
  }
  const auto* const opened = std::get_if<StreamOpened>(&delivery);
  caught_up_ = std::holds_alternative<CaughtUp>(delivery);
  if (!caught_up_) connected_ = opened != nullptr;
  if (opened == nullptr) return {};
  const int64_t before = engine_.batch.cursor().stream_created;
  if (before != 0 && before != opened->position.stream_created) poison_ = 0;  // another stream
  return engine_.batch.stream_opened(opened->position);
}

Status WorkApplier::apply_event(const EventInput& event, const TurnState& turn) {
  const TimePoint now = turn.now;
  // The broker stamped all further events of the stream later than this event, so no timer up to
  // this time is held.
  TRY(fire_until(std::min(event.stamped, now), turn, false));
  caught_up_ = !event.more;
  if (event.sequence == poison_) {
    return engine_.batch.apply(
        now, UnreadableInput{.sequence = event.sequence,
                             .stamped = event.stamped,
                             .reason = {std::string(kPoison),
                                        "the server process died repeatedly while it applied this "
                                        "event"},
                             .message = event_message(event.ns, event.event.event())});
  }
  TRY(engine_.batch.apply(now, event));
  crash_point(CrashPoint::kEventApplied);
  return {};
}

/// Whether the stream may still hold events that came before now.
bool WorkApplier::is_behind(const Work& left) const {
  return !caught_up_ || !left.deliveries.empty() || intake_.has_deliveries();
}

/// Fires the timers that are due at `time`. With `hold`, a timer that an event may overtake is held
/// instead. During backpressure the ticks of schedules wait; afterwards one start replaces all
/// missed ticks of a schedule (Schedules).
Status WorkApplier::fire_until(TimePoint time, const TurnState& turn, bool hold) {
  const bool ticks = turn.takes_new_work;
  for (const TimerInput& timer : engine_.timers.take(time, {.held = !hold, .ticks = ticks})) {
    if (hold && TRY(engine_.batch.may_be_overtaken(turn.now, timer))) {
      engine_.timers.hold(timer);
    } else if (!ticks && is_tick(timer)) {
      engine_.timers.put_back_tick(timer);
    } else {
      TRY(engine_.batch.apply(turn.now, timer));
      crash_point(CrashPoint::kTimerApplied);
    }
  }
  return {};
}

Status WorkApplier::apply_commands(const std::vector<CommandInput>& commands, TimePoint now) {
  for (const CommandInput& one : commands) {
    TRY(engine_.batch.apply(now, one));
    crash_point(CrashPoint::kCommandApplied);
  }
  return {};
}

/// Applies reports, then missed heartbeats.
Status WorkApplier::apply_tasks(const std::vector<TaskInput>& tasks, TimePoint now) {
  for (const TaskInput& one : tasks) {
    TRY(engine_.batch.apply(now, one));
    crash_point(CrashPoint::kResultApplied);
  }
  for (const InstanceId& task : engine_.tasks.missed_heartbeats()) {
    TRY(engine_.batch.apply(now, MissedHeartbeatInput{task}));
  }
  return {};
}

}  // namespace millrace
