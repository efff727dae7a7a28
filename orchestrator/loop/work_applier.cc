#include "orchestrator/loop/work_applier.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include "orchestrator/outgoing/messages.h"
#include "os/crash_point.h"

namespace millrace {
namespace {

/// How many portions of purges, and of the retention, one batch does at most.
constexpr size_t kPortionsOfDeletion = 4;

/// How many due timers one batch fires at most. Others are left for the next batch.
constexpr size_t kTimersInABatch = 250;
/// How many of them it takes at once. Those that are not fired come first in the next turn, so they
/// must be few for a timer of another namespace to get its turn soon.
constexpr size_t kTimersAtOnce = 32;

/// How much of a turn work that earlier turns left may use, and timers, and results and reports,
/// and purges, and the retention, if inputs wait for the commit of the turn or for the next turn.
constexpr double kShareOfEarlierWork = 0.3;
constexpr double kShareOfTimers = 0.3;
constexpr double kShareOfResults = 0.4;
/// The same for results and reports if earlier work rests: its lanes take part then, too.
constexpr double kShareOfResultsAlone = 0.2;
constexpr double kShareOfDeletion = 0.2;
/// How much of a turn events and commands may use, whatever the kinds before have used.
constexpr double kShareOfEvents = 0.4;
constexpr double kShareOfCommands = 0.1;
/// How much of a turn may be used when the last event is applied, if commands, results or reports
/// wait; and when the last command is applied, if results or reports wait. Events and commands that
/// have not used their shares go on.
constexpr double kShareUpToEvents = 0.7;
constexpr double kShareUpToCommands = 0.9;

/// Lanes may write at this part of the rate at which the store writes checkpoints: then the
/// checkpoints keep pace with what events write besides.
constexpr uint64_t kCheckpointShare = 2;
constexpr uint64_t kLeastRate = uint64_t{8} << 20;

/// Moves the elements of `from` that are marked to the front of `to`, in their order.
template <class T>
void leave_those(const std::vector<bool>& marked, std::vector<T>& from, std::vector<T>& to) {
  std::vector<T> stays;
  std::vector<T> leaves;
  for (size_t i = 0; i < from.size(); ++i) {
    (marked[i] ? leaves : stays).push_back(std::move(from[i]));
  }
  from = std::move(stays);
  move_all(to, leaves);
  to = std::move(leaves);
}

/// Notes the number of the turn in the inputs that no earlier turn has taken.
template <class T>
void note_turn(std::vector<T>& inputs, uint64_t turn) {
  for (T& one : inputs) {
    if (one.since == 0) one.since = turn;
  }
}

}  // namespace

/// Applies inputs in a fixed order (docs/ARCHITECTURE.md): work that earlier turns left, events
/// with the timers that come before them, timers, commands, results and reports. Acknowledgements
/// and webhook results come first; they step no instance. Each kind has a share of the turn, and
/// what does not fit is left for the next turn.
Result<BatchOutcome> WorkApplier::apply(Work& work, Work& left, const TurnState& turn) {
  using OnAck = Outbox::OnAck;
  const TimePoint now = turn.now;
  begin_turn(work, turn);
  TRY(apply_acks(work, now, turn.store_is_full ? OnAck::kErase : OnAck::kKeep));
  TRY(apply_webhook_results(work.webhook_results, now));
  if (!work.acks.empty() || !work.webhook_results.empty()) engine_.meter.end();
  FairWork fair(shares_, engine_.meter, turn_);
  add_earlier_work(fair, work, turn);
  UnitCost earlier;
  const bool goes_on = works(Background::kEarlierWork);
  const auto lanes = goes_on ? FairWork::Lanes::kAll : FairWork::Lanes::kSparse;
  const auto is_used = [&](const UnitCost& cost) {
    return engine_.meter.is_used(earlier += cost, kShareOfEarlierWork);
  };
  TRY(apply_fairly(fair, work, turn, FairWork::Added::kSome, is_used, lanes));
  add_results(fair, work, engine_);
  const bool has_left = !fair.empty();
  const bool has_others = has_left || !work.commands.empty();
  TRY(apply_deliveries(work.deliveries, left, turn, has_others ? kShareUpToEvents : 1));
  TRY(fire_until(now, turn, is_behind(left)));
  TRY(apply_commands(work.commands, left, now, has_left ? kShareUpToCommands : 1));
  const bool has_results = !work.evaluated.empty() || !work.tasks.empty();
  if (has_results || (goes_on && !must_end(earlier, kShareOfEarlierWork))) {
    UnitCost others;
    const double share = goes_on ? kShareOfResults : kShareOfResultsAlone;
    TRY(apply_fairly(fair, work, turn, FairWork::Added::kAll,
                     [&](const UnitCost& cost) { return must_end(others += cost, share); }));
  }
  TRY(apply_missed_heartbeats(now));
  leave(fair, work, left, turn);
  engine_.meter.set_kind(UnitKind::kPurge);
  for (const ArchivedPage& page : work.archived) TRY(engine_.batch.apply(now, page));
  engine_.meter.end();
  background_ += earlier;
  background_ += timers_;
  const bool has_purges = turn.backlog.has_purges || engine_.batch.has_archived();
  if (has_purges && works(Background::kPurges)) TRY(purge());
  // A command may have changed the settings. A pass that is running finds out in its next step.
  const bool may_begin = !turn.backlog.retention.has_steps && !work.commands.empty();
  if (may_begin || (turn.has_pass() && works(Background::kRetention))) TRY(retain(now));
  BatchOutcome outcome = TRY(engine_.batch.finish(now));
  engine_.meter.end_turn();
  return outcome;
}

void WorkApplier::begin_turn(Work& work, const TurnState& turn) {
  engine_.meter.begin_turn();
  if (turn.checkpoint_rate) {
    shares_.set_rate(std::max(*turn.checkpoint_rate / kCheckpointShare, kLeastRate));
  }
  if (turn.heavy_rate != heavy_rate_) shares_.set_heavy_rate(heavy_rate_ = turn.heavy_rate);
  timers_left_ = kTimersInABatch;
  timers_ = {};
  has_inputs_ = !work.deliveries.empty() || !work.commands.empty() || !work.evaluated.empty() ||
                !work.tasks.empty();
  turns_behind_ = turn.store_is_behind ? turns_behind_ + 1 : 0;
  if (!waits_for_store()) choose_background(work, turn);
  const bool was_much = engine_.meter.is_used(background_, kShareBeforeRest);
  rests_ = waits_for_store() || (has_inputs_ && !only_ && !rests_ && was_much);
  background_ = {};
  ++turn_;
  note_turn(work.continues, turn_);
  note_turn(work.evaluated, turn_);
  note_turn(work.tasks, turn_);
}

/// If several kinds of other work wait, a turn that has inputs does one of them, and the next such
/// turn the next one. Otherwise an input would wait for all of them together.
void WorkApplier::choose_background(const Work& work, const TurnState& turn) {
  only_.reset();
  if (!has_inputs_) return;
  const Backlog& backlog = turn.backlog;
  const std::array<bool, kBackgrounds> waits = {
      !work.continues.empty() || (backlog.has_steps && turn.takes_new_work), has_timers_left_,
      backlog.has_purges || backlog.has_archived || !work.archived.empty(), turn.has_pass()};
  if (std::count(waits.begin(), waits.end(), true) < 2) return;
  do {
    last_only_ = (last_only_ + 1) % kBackgrounds;
  } while (!waits[last_only_]);
  only_ = static_cast<Background>(last_only_);
}

/// Adds the work that earlier batches left, unless new work must wait, and the instances that
/// continue.
void WorkApplier::add_earlier_work(FairWork& fair, const Work& work, const TurnState& turn) {
  if (turn.backlog.has_steps && turn.takes_new_work) {
    std::map<WorkLane, uint64_t> went_on;
    for (const WorkLane& lane : engine_.batch.unfinished()) {
      const auto known = went_on_.find(lane);
      const uint64_t since = known == went_on_.end() ? turn_ : known->second;
      if (!went_on.emplace(lane, since).second) continue;  // the lane has several kinds of work
      fair.add(lane, {.kind = FairWork::Kind::kUnfinished, .since = since});
    }
    went_on_ = std::move(went_on);
  }
  for (size_t i = 0; i < work.continues.size(); ++i) {
    const ContinueInput& one = work.continues[i];
    fair.add({one.ns, one.workflow},
             {.kind = FairWork::Kind::kContinue, .index = i, .since = one.since});
  }
}

void WorkApplier::add_results(FairWork& fair, const Work& work, const EngineState& engine) {
  for (size_t i = 0; i < work.evaluated.size(); ++i) {
    const EvaluatedInput& one = work.evaluated[i];
    fair.add({one.ns, one.workflow},
             {.kind = FairWork::Kind::kEvaluated, .index = i, .since = one.since});
  }
  for (size_t i = 0; i < work.tasks.size(); ++i) {
    const TaskInput& one = work.tasks[i];
    const OpenTask* const task = engine.tasks.find(one.report.task);
    const WorkLane lane = task == nullptr ? WorkLane() : WorkLane{task->ns, task->workflow};
    fair.add(lane, {.kind = FairWork::Kind::kTask, .index = i, .since = one.since});
  }
}

/// Whether work that can go on in later turns ends for now: the turn is used up, or the end of the
/// batch will take as long as a unit to write what this work has changed, or the work has used its
/// share and inputs wait. `used`: what this work has cost in this turn.
bool WorkApplier::must_end(const UnitCost& used, double share) const {
  const UnitMeter& meter = engine_.meter;
  if (meter.is_turn_spent() || used.to_write >= meter.limits().write_time) return true;
  if (has_inputs_) return meter.is_used(used, share);
  const bool is_used = meter.is_turn_spent(share) || meter.is_used(used, share);
  return is_used && intake_.has_inputs();
}

Status WorkApplier::apply_fairly(FairWork& fair, const Work& work, const TurnState& turn,
                                 FairWork::Added added, const FairWork::Ends& ends,
                                 FairWork::Lanes lanes) {
  const TimePoint now = turn.now;
  Batch& batch = engine_.batch;
  UnitMeter& meter = engine_.meter;
  const auto apply = [&](const WorkLane& lane, const FairWork::Item& item) -> Result<bool> {
    switch (item.kind) {
      case FairWork::Kind::kUnfinished:
        if (!batch.may_go_on(lane)) return true;
        TRY(batch.go_on(now, lane));
        went_on_[lane] = turn_;
        return !batch.may_go_on(lane);
      case FairWork::Kind::kContinue:
        meter.set_kind(UnitKind::kContinuation);
        TRY(batch.apply(now, work.continues[item.index]));
        return true;
      case FairWork::Kind::kEvaluated:
        meter.set_kind(UnitKind::kEvaluation);
        TRY(batch.apply(now, work.evaluated[item.index]));
        crash_point(CrashPoint::kResultApplied);
        return true;
      case FairWork::Kind::kTask:
        meter.set_kind(UnitKind::kReport);
        TRY(batch.apply(now, work.tasks[item.index]));
        crash_point(CrashPoint::kResultApplied);
        return true;
      case FairWork::Kind::kCommand:  // only in apply_commands()
        break;
    }
    return true;
  };
  return fair.run(added, ends, apply, lanes);
}

/// Moves the inputs that were not applied to `left`.
void WorkApplier::leave(const FairWork& fair, Work& work, Work& left, const TurnState& turn) {
  std::vector<bool> continues(work.continues.size());
  std::vector<bool> evaluated(work.evaluated.size());
  std::vector<bool> tasks(work.tasks.size());
  fair.each_left([&](const FairWork::Item& item) {
    if (item.kind == FairWork::Kind::kContinue) continues[item.index] = true;
    if (item.kind == FairWork::Kind::kEvaluated) evaluated[item.index] = true;
    if (item.kind == FairWork::Kind::kTask) tasks[item.index] = true;
  });
  leave_those(continues, work.continues, left.continues);
  leave_those(evaluated, work.evaluated, left.evaluated);
  leave_those(tasks, work.tasks, left.tasks);
  waits_until_.reset();
  if (waits_for_rate(fair, left, turn)) waits_until_ = shares_.next_at();
}

/// Whether all that is left waits for the rate of bytes. Unfinished work that has no item does not
/// wait for it: it came up in this turn, or this batch may do no more of it.
bool WorkApplier::waits_for_rate(const FairWork& fair, const Work& left,
                                 const TurnState& turn) const {
  if (!fair.waits_for_rate() || !left.deliveries.empty() || !left.commands.empty()) return false;
  if (!turn.takes_new_work) return true;
  return std::ranges::all_of(engine_.batch.unfinished(),
                             [&](const WorkLane& lane) { return fair.has(lane); });
}

Result<BatchOutcome> WorkApplier::make_room(const Work& work, TimePoint now) {
  engine_.meter.begin_turn();
  has_inputs_ = false;
  TRY(apply_acks(work, now, Outbox::OnAck::kErase));
  engine_.outbox.drop_acked(engine_.tx);
  TRY(apply_commands(work.commands, now));
  for (const ArchivedPage& page : work.archived) TRY(engine_.batch.apply(now, page));
  engine_.meter.end();
  TRY(purge());
  TRY(retain(now));
  return engine_.batch.finish(now);
}

/// Does some portions of a deletion, until they must end; at least one.
template <class Portion>
Status WorkApplier::delete_in_portions(const Portion& portion) {
  UnitCost used;
  bool can_follow = true;
  for (size_t left = kPortionsOfDeletion; can_follow && left > 0; --left) {
    engine_.meter.set_kind(UnitKind::kPurge);
    can_follow = TRY(portion());
    used += engine_.meter.end();
    can_follow = can_follow && !must_end(used, kShareOfDeletion);
  }
  background_ += used;
  return {};
}

/// Deletes archived instances and continues the purges, in turns.
Status WorkApplier::purge() {
  return delete_in_portions([this]() -> Result<bool> {
    Batch& batch = engine_.batch;
    deletes_archived_ = batch.has_archived() && !deletes_archived_;
    if (!deletes_archived_) return TRY(batch.purge(&engine_.meter)) || batch.has_archived();
    TRY(batch.delete_archived(&engine_.meter));
    return true;
  });
}

/// Continues the pass of the retention.
Status WorkApplier::retain(TimePoint now) {
  return delete_in_portions([this, now] { return engine_.batch.retain(now, &engine_.meter); });
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

/// Applies as many deliveries as one batch should, at least one, until they have used their share
/// and the given share of the turn is used; the others are left for the next batch.
Status WorkApplier::apply_deliveries(std::vector<Delivery>& deliveries, Work& left,
                                     const TurnState& turn, double share) {
  const UnitMeter& meter = engine_.meter;
  UnitCost used;
  auto next = deliveries.begin();
  while (next != deliveries.end()) {
    engine_.meter.set_kind(UnitKind::kEvent);
    TRY(apply(*next++, turn));
    used += engine_.meter.end();
    const bool ends = meter.is_turn_spent(share) && meter.is_used(used, kShareOfEvents);
    if (engine_.batch.is_full() || ends) break;
  }
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
  engine_.meter.set_kind(UnitKind::kEvent);
  caught_up_ = !event.more;
  if (event.sequence == poison_) {
    return engine_.batch.apply(
        now, UnreadableInput{.sequence = event.sequence,
                             .stamped = event.stamped,
                             .reason = {std::string(kPoison),
                                        "the process died repeatedly while it applied this event"},
                             .message = event_message(event.ns, event.event.event()),
                             .origin = event.origin});
  }
  TRY(engine_.batch.apply(now, event));
  crash_point(CrashPoint::kEventApplied);
  return {};
}

/// Whether the stream may still hold events that came before now.
bool WorkApplier::is_behind(const Work& left) const {
  return !caught_up_ || !left.deliveries.empty() || intake_.has_deliveries();
}

/// Fires the timers that are due at `time`, as many as one batch should, until they must end; at
/// least one timer in a turn. With `hold`, a timer that an event may overtake is held instead.
/// During backpressure the ticks of schedules wait; afterwards one start replaces all missed ticks
/// of a schedule (Schedules).
Status WorkApplier::fire_until(TimePoint time, const TurnState& turn, bool hold) {
  const auto must_wait = [this] {
    if (timers_left_ == kTimersInABatch) return false;
    return timers_left_ == 0 || !works(Background::kTimers) || must_end(timers_, kShareOfTimers);
  };
  if (must_wait()) {
    // Timers may have become due since the last look, so an event first fires those of its targets.
    has_timers_left_ = true;
    engine_.batch.note_unfired_timers(true);
    return {};
  }
  const bool ticks = turn.takes_new_work;
  const DueTimers::With with{.held = !hold, .ticks = ticks};
  bool goes_on = true;
  while (goes_on) {
    const size_t most = std::min(timers_left_, kTimersAtOnce);
    std::vector<TimerInput> due = engine_.timers.take(time, with, most);
    if (!due.empty()) {  // if many timers are due, some hundred were put into queues
      engine_.meter.set_kind(UnitKind::kTimer);
      timers_ += engine_.meter.end();
    }
    auto next = due.begin();
    for (; next != due.end() && !must_wait(); ++next) {
      --timers_left_;
      const TimerInput& timer = *next;
      engine_.meter.set_kind(UnitKind::kTimer);
      if (hold && TRY(engine_.batch.may_be_overtaken(turn.now, timer))) {
        engine_.timers.hold(timer);
      } else if (!ticks && is_tick(timer)) {
        engine_.timers.put_back_tick(timer);
      } else {
        TRY(engine_.batch.apply(turn.now, timer));
        crash_point(CrashPoint::kTimerApplied);
      }
      timers_ += engine_.meter.end();
    }
    goes_on = next == due.end() && due.size() == most && !must_wait();
    if (next != due.end()) engine_.timers.put_back({next, due.end()});
  }
  has_timers_left_ = engine_.timers.has_left();
  engine_.batch.note_unfired_timers(has_timers_left_);
  return {};
}

Status WorkApplier::apply_commands(const std::vector<CommandInput>& commands, TimePoint now) {
  for (const CommandInput& one : commands) {
    engine_.meter.set_kind(UnitKind::kCommand);
    TRY(engine_.batch.apply(now, one));
    crash_point(CrashPoint::kCommandApplied);
    engine_.meter.end();
  }
  return {};
}

/// Applies commands until they have used their share and the given share of the turn is used, at
/// least one; the others are left for the next turn. The namespaces take turns; the commands of one
/// namespace keep their order.
Status WorkApplier::apply_commands(std::vector<CommandInput>& commands, Work& left, TimePoint now,
                                   double share) {
  if (commands.empty()) return {};
  FairWork fair(command_shares_, engine_.meter, turn_);
  for (size_t i = 0; i < commands.size(); ++i) {
    const auto ns = engine_.catalog.find_namespace(namespace_of_command(commands[i].command));
    fair.add({ns.value_or(NamespaceNumber(0)), {}},
             {.kind = FairWork::Kind::kCommand, .index = i, .since = turn_});
  }
  const auto apply = [&](const WorkLane&, const FairWork::Item& item) -> Result<bool> {
    engine_.meter.set_kind(UnitKind::kCommand);
    TRY(engine_.batch.apply(now, commands[item.index]));
    crash_point(CrashPoint::kCommandApplied);
    return true;
  };
  UnitCost used;
  const auto ends = [&](const UnitCost& cost) {
    return engine_.meter.is_used(used += cost, kShareOfCommands) &&
           engine_.meter.is_turn_spent(share);
  };
  TRY(fair.run(FairWork::Added::kAll, ends, apply));
  std::vector<bool> is_left(commands.size());
  fair.each_left([&](const FairWork::Item& item) { is_left[item.index] = true; });
  leave_those(is_left, commands, left.commands);
  return {};
}

/// Applies missed heartbeats until the turn is used, at least one; some in one batch.
Status WorkApplier::apply_missed_heartbeats(TimePoint now) {
  const Duration elapsed = engine_.clock.elapsed();
  for (size_t left = TaskDispatch::kHeartbeatsAtOnce; left > 0; --left) {
    const auto deadline = engine_.tasks.next_heartbeat_deadline();
    if (!deadline || *deadline > elapsed) return {};
    engine_.meter.set_kind(UnitKind::kReport);
    for (const InstanceId& task : engine_.tasks.missed_heartbeats(1)) {
      TRY(engine_.batch.apply(now, MissedHeartbeatInput{task}));
    }
    engine_.meter.end();
    if (engine_.meter.is_turn_spent()) return {};
  }
  return {};
}

}  // namespace millrace
