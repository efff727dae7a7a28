#include "orchestrator/loop/processor.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/check.h"
#include "orchestrator/memory/read_ahead.h"
#include "orchestrator/outgoing/messages.h"
#include "os/crash_point.h"
#include "os/thread.h"

namespace millrace {
namespace {

constexpr Duration kStoreRetryDelay{500};

/// After an unclean end: turns with one input each, beside those for what was in hand.
constexpr uint64_t kCarefulTurns = 16;

/// A start tells how far it is each time it has read so many instances: every second, about.
constexpr uint64_t kToldEach = 1'000'000;

/// Those who wait have two rows at least, the head and the input.
constexpr size_t kRowsOfAWaiter = 2;

/// Acknowledgements of the broker are no reason for a commit of their own: they wait for the next
/// one, at most so long, unless they are many.
constexpr Duration kSettleDelay{20};

/// Keeps the first error in `done`, with what it was met at.
void note_first(Status& done, std::string_view what, const Status& status) {
  if (!done || status) return;
  const Error& error = status.error();
  done = fail(error.code, fmt::format("{}: {}", what, error.message));
}

/// Whether it starts something new.
bool is_tick(const TimerInput& timer) {
  return std::holds_alternative<TimerInput::OfSchedule>(timer.owner);
}

}  // namespace

Processor::Processor(ProcessorParts parts, ProcessorOptions options)
    : parts_(std::move(parts)),
      options_(options),
      tx_(parts_.environment),
      catalog_(parts_.definitions),
      dedupe_(options.dedupe),
      tasks_(parts_.functions, catalog_, parts_.clock, parts_.begun_tasks, damages_),
      hooks_(parts_.webhooks, catalog_, damages_,
             [this](DeliveryOutcome outcome) { intake_.delivered(std::move(outcome)); }),
      outbox_(parts_.publisher, options.kept,
              [this](uint64_t number, Result<PublishAck> ack) {
                intake_.settled(number, std::move(ack));
              }),
      pressure_(parts_.environment, options.marks),
      batch_({.tx = tx_,
              .catalog = catalog_,
              .waiting = waiting_,
              .living = living_,
              .dedupe = dedupe_,
              .recent = recent_,
              .tasks = tasks_,
              .hooks = hooks_,
              .in_hand = in_hand_,
              .damages = damages_,
              .make_id = parts_.make_id,
              .id_key = parts_.id_key,
              .limits = options.engine},
             options.batch),
      end_waiters_(tx_, catalog_),
      intake_(options.intake) {}

Processor::~Processor() { stop(); }

Status Processor::load() {
  TRY(check_format(tx_));
  TRY(check_counters(tx_));
  TRY(check_time());
  TRY(outbox_.load(tx_, damages_.noting()));
  TRY(in_hand_.open(parts_.environment.folder()));
  TRY(load_caches());
  TRY(learn_from_death());
  loaded_ = true;
  return {};
}

/// Where the last process died with a batch in hand, the inputs that were in it are applied one by
/// one, each noted: what that process dies of, too, is known then, and set aside at the next start.
Status Processor::learn_from_death() {
  const auto& left = in_hand_.left();
  if (!left) return {};
  careful_ = 2 * left->inputs + unfinished_.size() + kCarefulTurns;
  spdlog::warn("the last process died with {} inputs in hand; the next {} are applied one by one",
               left->inputs, careful_);
  if (!InHand::is_poison(*left)) return {};
  if (left->instance) {
    const auto& [space, id] = *left->instance;
    const TimePoint now = std::max(time_, parts_.clock.now());
    if (TRY(batch_.set_aside(now, space, id))) {
      spdlog::error("instance {} is set aside: the process died {} times while it stepped it",
                    to_string(id), left->deaths);
      BatchOutcome outcome = TRY(commit({}, now, Limit::kPassed));
      note_undone(act({}, std::move(outcome)));
      return {};
    }
  }
  poison_ = left->sequence;
  spdlog::error("event {} is set aside: the process died {} times while it applied it", poison_,
                left->deaths);
  return {};
}

Status Processor::load_caches() {
  waiting_.clear();
  living_.clear();
  unfinished_.clear();
  held_.clear();
  ticks_.clear();
  released_.clear();
  newly_held_ = 0;
  TRY(catalog_.load(tx_));
  TRY(dedupe_.load(tx_, damages_.noting()));
  TRY(recent_.load(tx_));
  TRY(tasks_.load(tx_));
  TRY(hooks_.load(tx_));
  time_ = std::max(TRY(read_engine_time(tx_)), time_);
  const OnDamage damaged = damages_.noting();
  for (const auto& [number, entry] : catalog_.workflows())
    TRY(damages_.pass_over(load_workflow(entry)));
  std::vector<Instance> on_their_way;
  read_ = 0;
  waiting_.reserve(tx_.about_rows(Table::kLive) / kRowsOfAWaiter);
  const auto read = [&](const auto& put) { return each_living(tx_, put, damaged); };
  size_t orphans = 0;
  TRY(read_ahead<Instance>(read, [&](Instance head) {
    if (++read_ % kToldEach == 0) spdlog::info("{} living instances are read", read_.load());
    if (!catalog_.has_namespace(head.space)) {
      ++orphans;
      return;
    }
    if (const Status owned = catalog_.check_owner(head); !owned) {
      damaged(owned.error());
      return;
    }
    const Status waits = waiting_.update(catalog_.name_of(head.space), head);
    if (!waits) damaged(damaged_instance(head.space, head.id, waits.error().message));
    living_.began(head.revision.workflow);
    if (is_on_its_way(head)) on_their_way.push_back(std::move(head));
  }));
  if (orphans > 0) {
    spdlog::warn("{} living instances are of namespaces that do not exist; they are skipped",
                 orphans);
  }
  for (const Instance& head : on_their_way) {
    const auto awaited = catalog_.awaited(tx_, head.revision, head.state);
    if (!awaited && is_damaged_row(awaited.error())) {
      damaged(awaited.error());
      continue;
    }
    recent_.update(head, TRY(awaited));
    if (head.phase == Phase::kWaiting) continue;
    // It stopped between two states, or an evaluation was under way: it goes on from there.
    unfinished_.push_back({head.space, head.id});
  }
  TRY(each_delayed(
      tx_,
      [&](uint64_t number, const DelayedRecord& record) {
        if (!catalog_.has_namespace(record.space)) return;
        waiting_.arm_delayed(number, record.at);
      },
      damaged));
  TRY(each_grouped(
      tx_,
      [&](const GroupedEvent& event) {
        if (event.record.expires) waiting_.arm_grouped(event.number, *event.record.expires);
      },
      damaged));
  if (!catalog_.find_namespace(kDefaultNamespace)) {
    if (TRY(read_counter(tx_, Counter::kNamespace)) > 0) {  // it can't be deleted
      return tl::unexpected(damaged_row(Table::kNamespaces, kDefaultNamespace, "it is missing"));
    }
    TRY(catalog_.create_namespace(tx_, std::string(kDefaultNamespace), parts_.clock.now()));
    TRY(tx_.commit());
  }
  TRY(batch_.load());
  batch_committed();
  return {};
}

/// The engine's time never goes back, so one from a damaged row would stay.
Status Processor::check_time() const {
  constexpr auto kFarthest = std::chrono::duration_cast<Duration>(std::chrono::years(100));
  const TimePoint stored = TRY(read_engine_time(tx_));
  const TimePoint now = parts_.clock.now();
  if (stored <= now + kFarthest) return {};
  return tl::unexpected(damaged_engine_time(
      fmt::format("it is {}, more than 100 years after {}, the time of the system's clock",
                  format_rfc3339(stored), format_rfc3339(now))));
}

/// What its newest revision listens and waits for.
Status Processor::load_workflow(const WorkflowEntry& entry) {
  const WorkflowNumber number = entry.number;
  const auto workflow = TRY(catalog_.definition(tx_, {number, entry.latest}));
  TRY(waiting_.set_start(catalog_.name_of(entry.space), number, workflow->start.events));
  if (!workflow->start.cron) return {};
  const auto row = TRY(read_schedule(tx_, number));
  if (!row) {
    return tl::unexpected(
        damaged_schedule(number, fmt::format("it is missing, and workflow \"{}\" has a schedule; "
                                             "apply it without, then with its schedule",
                                             entry.id)));
  }
  const TimePoint tick = workflow->start.cron->next(row->from);
  const auto is_it = [&](const TimerInput& timer) {
    const auto* const owner = std::get_if<TimerInput::OfSchedule>(&timer.owner);
    return owner != nullptr && owner->workflow == number;
  };
  if (std::none_of(ticks_.begin(), ticks_.end(), is_it)) waiting_.arm_schedule(number, tick);
  return {};
}

void Processor::start() {
  thread_ = std::thread([this] { run(); });
}

void Processor::stop() {
  intake_.close();
  if (thread_.joinable()) thread_.join();
  std::vector<Refuse> left = intake_.abandoned();
  std::vector<Refuse> waiting = end_waiters_.abandoned();
  move_all(waiting, left);
  const Error stopping{"stopping", "millrace is stopping; ask again"};
  for (const Refuse& refuse : left) refuse(stopping);
}

void Processor::wait_for_end(std::string space, InstanceId id, Duration at_most,
                             EndWaiter::Done done) {
  intake_.wait_for_end({std::move(space), id, parts_.clock.elapsed() + at_most, std::move(done)});
}

Status Processor::started() const {
  if (loaded_) return {};
  return fail("starting", fmt::format("{} living instances are read so far", read_.load()));
}

Status Processor::ready() const {
  if (!connected_) {
    return fail("broker.unreachable", "the event stream is not being read: no connection to NATS");
  }
  TRY(intake_.goes_on());
  TRY(damages_.ready());
  return takes_new_work();
}

// The loop.

void Processor::run() {
  name_thread("engine");
  const SignalStack stack;
  while (true) {
    auto wake = next_wake();
    const bool at_rest = outbox_.idle() && wake != Duration(0);
    if (outbox_.in_flight() > 0) wake = std::min(wake.value_or(kSettleDelay), kSettleDelay);
    // While the store refuses, only time helps.
    const bool through = retry_at_.has_value();
    if (!intake_.sleep({.at_most = wake, .through = through, .at_rest = at_rest})) return;
    turn();
  }
}

std::optional<Duration> Processor::next_wake() const {
  std::optional<Duration> next;
  const auto sooner = [&](Duration wait) {
    wait = std::max(wait, Duration(0));
    next = std::min(next.value_or(wait), wait);
  };
  const Duration elapsed = parts_.clock.elapsed();
  if (retry_at_) {
    sooner(*retry_at_ - elapsed);
    return next;
  }
  if (redo_at_) {
    sooner(*redo_at_ - elapsed);
  } else if (tasks_.has_due() || (sends_ && outbox_.has_due())) {
    sooner(Duration(0));
  }
  if (!unfinished_.empty() || !left_.empty() || batch_.has_purges() ||
      (!pressure_.is_on() && (batch_.is_unfinished() || !ticks_.empty()))) {
    sooner(Duration(0));
  }
  if (const auto deadline = waiting_.next_deadline()) {
    sooner(*deadline - std::max(time_, parts_.clock.now()));
  }
  if (const auto due = hooks_.next_due(); due && !redo_at_) {
    sooner(*due - std::max(time_, parts_.clock.now()));
  }
  if (const auto silence = tasks_.next_silence()) sooner(*silence - elapsed);
  if (sends_ && outbox_.retry_at()) sooner(*outbox_.retry_at() - elapsed);
  if (const auto at = pressure_.look_again_at()) sooner(*at - elapsed);
  if (const auto deadline = end_waiters_.next_deadline()) sooner(*deadline - elapsed);
  return next;
}

void Processor::measure_pressure() {
  const bool was_on = pressure_.is_on();
  const std::optional<Error>& cause =
      pressure_.measure(parts_.clock.elapsed(), outbox_.bytes(), evaluating_);
  if (cause && !was_on) spdlog::warn("new work has to wait: {}", cause->message);
  if (!cause && was_on) spdlog::info("new work is taken again");
  intake_.set_refusal(cause);
}

bool Processor::turn() {
  if (retry_at_ && parts_.clock.elapsed() < *retry_at_) return false;
  retry_at_.reset();
  const bool wakes = next_wake() == Duration(0);
  const TimePoint now = std::max(time_, parts_.clock.now());

  measure_pressure();
  Work work = std::exchange(left_, {});
  move_all(unfinished_, work.continues);
  const size_t results = work.results.size();
  intake_.gather(work);
  evaluating_ -= work.results.size() - results;
  if (work.empty() && !wakes) return false;
  time_ = now;
  if (careful_ > 0) {
    --careful_;
    keep_first(work);
    in_hand_.begin_careful(1);
  } else {
    in_hand_.begin(work.size());
  }
  crash_point(CrashPoint::kGathered);

  std::vector<EndWaiter> waiters = std::exchange(work.waiters, {});
  Result<BatchOutcome> outcome = commit(apply(work, now), now, Limit::kKept);
  if (outcome) {
    note_lost(std::nullopt);
    Status done = act(work.links, std::move(*outcome));
    // What a load has found goes out behind the timers that were due by then.
    note_first(done, "the tasks", tasks_.hand_out_due(tx_));
    note_undone(done);
    for (const TaskNews& news : work.tasks) {
      if (!news.stored) continue;
      crash_point(CrashPoint::kToldStored);
      news.stored();
    }
  } else {
    lose_batch(std::move(work), outcome.error());
  }
  in_hand_.end();
  end_waiters_.add(std::move(waiters));
  end_waiters_.expire(parts_.clock.elapsed());
  measure_pressure();
  return true;
}

/// Keeps the first input, leaves the others for the turns that follow.
void Processor::keep_first(Work& work) {
  bool taken = false;
  const auto keep = [&taken](auto& inputs, auto& rest) {
    if (inputs.empty()) return;
    rest.assign(std::make_move_iterator(inputs.begin() + (taken ? 0 : 1)),
                std::make_move_iterator(inputs.end()));
    inputs.resize(taken ? 0 : 1);
    taken = true;
  };
  keep(work.continues, unfinished_);
  keep(work.deliveries, left_.deliveries);
  keep(work.commands, left_.commands);
  keep(work.results, left_.results);
  keep(work.tasks, left_.tasks);
}

/// Brings the batch to disk, if all of it was applied.
Result<BatchOutcome> Processor::commit(Status applied, TimePoint now, Limit limit) {
  TRY(std::move(applied));
  BatchOutcome outcome = TRY(batch_.finish(now));
  if (pressure_.store_is_full()) {
    outbox_.drop_kept(tx_);
  } else if (!tx_.write_set().empty()) {
    outbox_.trim_kept(tx_, now);
  }
  crash_point(CrashPoint::kFinished);
  TRY(tx_.commit(limit));
  batch_committed();
  return outcome;
}

/// The order of ARCHITECTURE, decision 6: what an earlier batch left, events with the timers that
/// come before them, timers, commands, results. What the broker says of our messages is no input.
Status Processor::apply(Work& work, TimePoint now) {
  using Then = Outbox::Then;
  TRY(hear(work, now, pressure_.store_is_full() ? Then::kErase : Then::kKeep));
  TRY(hear_of_webhooks(work, now));
  if (!pressure_.is_on()) TRY(batch_.go_on(now));
  for (const ContinueInput& one : work.continues) {
    in_hand_.take_instance({one.space, one.instance});
    TRY(batch_.apply({now, one}));
  }
  size_t applied = 0;
  for (; applied < work.deliveries.size() && !batch_.is_full(); ++applied) {
    TRY(apply(work.deliveries[applied], now));
  }
  const auto next = work.deliveries.begin() + static_cast<ptrdiff_t>(applied);
  left_.deliveries.insert(left_.deliveries.begin(), std::make_move_iterator(next),
                          std::make_move_iterator(work.deliveries.end()));
  work.deliveries.erase(next, work.deliveries.end());
  TRY(fire_until(now, now, is_behind()));
  TRY(apply(work.commands, now));
  for (const EvaluatedInput& one : work.results) {
    in_hand_.take_instance({one.space, one.instance});
    TRY(batch_.apply({now, one}));
    crash_point(CrashPoint::kResultApplied);
  }
  for (const TaskNews& one : work.tasks) {
    if (const TaskInHand* const task = tasks_.find(one.report.task)) {
      in_hand_.take_instance({task->space, task->by});
    }
    TRY(batch_.apply({now, TaskInput{one.report}}));
    crash_point(CrashPoint::kResultApplied);
  }
  for (const InstanceId& task : tasks_.silent()) TRY(batch_.apply({now, SilenceInput{task}}));
  return batch_.purge();
}

Status Processor::apply(const std::vector<CommandInput>& commands, TimePoint now) {
  for (const CommandInput& one : commands) {
    TRY(batch_.apply({now, one}));
    crash_point(CrashPoint::kCommandApplied);
  }
  return {};
}

/// What the broker says of our messages. Acknowledgements count first: those that came before the
/// stream was asked for its state say what was in it then.
Status Processor::hear(const Work& work, TimePoint now, Outbox::Then then) {
  for (const auto& [number, ack, openings] : work.settlements) {
    TRY(outbox_.settle(tx_, number, ack, openings, parts_.clock.elapsed(), then));
    crash_point(CrashPoint::kAckApplied);
  }
  outbox_.end_settling(tx_, batch_.cursor().stream_created, now);
  for (const auto& [opened, openings] : work.links) {
    if (!opened) continue;
    outbox_.stream_opened(tx_, opened->position.stream_created, opened->intact_to, openings);
  }
  return {};
}

/// What is given up becomes a dead letter.
Status Processor::hear_of_webhooks(const Work& work, TimePoint now) {
  for (const DeliveryOutcome& outcome : work.deliveries_made) {
    const auto given_up = TRY(hooks_.settle(tx_, outcome, now));
    crash_point(CrashPoint::kDeliveryApplied);
    if (!given_up) continue;
    TRY(batch_.set_aside(*given_up, outcome.failure->error));
  }
  return {};
}

Status Processor::apply(const Delivery& delivery, TimePoint now) {
  if (const auto* opened = std::get_if<StreamOpened>(&delivery)) {
    const int64_t before = batch_.cursor().stream_created;
    if (before != 0 && before != opened->position.stream_created) poison_ = 0;  // another stream
    batch_.stream_opened(opened->position);
    connected_ = true;
    caught_up_ = false;
    return {};
  }
  if (std::holds_alternative<CaughtUp>(delivery)) {
    caught_up_ = true;
    return {};
  }
  if (std::holds_alternative<StreamLost>(delivery)) {
    connected_ = false;
    caught_up_ = false;
    return {};
  }
  if (const auto* event = std::get_if<EventInput>(&delivery)) {
    // Whatever the stream still holds comes behind this one.
    TRY(fire_until(std::min(event->stamped, now), now, false));
    caught_up_ = !event->more;
    if (event->sequence == poison_) return set_aside(*event, now);
    in_hand_.take_event(event->sequence);
    TRY(batch_.apply(now, *event));
    crash_point(CrashPoint::kEventApplied);
    return {};
  }
  const auto& unreadable = std::get<UnreadableInput>(delivery);
  caught_up_ = !unreadable.more;
  in_hand_.take_event(unreadable.sequence);
  return batch_.apply({now, unreadable});
}

Status Processor::set_aside(const EventInput& poison, TimePoint now) {
  return batch_.apply(
      {now,
       UnreadableInput{.sequence = poison.sequence,
                       .stamped = poison.stamped,
                       .reason = {std::string(kPoison),
                                  "the process died again and again while it applied this event"},
                       .message = event_message(poison.space, poison.event.event())}});
}

/// Whether the stream may still hold events that came before now.
bool Processor::is_behind() const {
  return !caught_up_ || !left_.deliveries.empty() || intake_.has_deliveries();
}

/// Fires what is due at `time`; with `hold`, what an event may overtake is held back. Ticks of
/// schedules wait as long as new work has to: then they come as one (Schedules).
Status Processor::fire_until(TimePoint time, TimePoint now, bool hold) {
  due_.clear();
  waiting_.advance(time, due_);
  if (!hold) {
    const auto end = std::find_if(held_.begin(), held_.end(),
                                  [&](const TimerInput& timer) { return timer.deadline > time; });
    due_.insert(due_.begin(), held_.begin(), end);
    released_.insert(released_.end(), held_.begin(), end);
    held_.erase(held_.begin(), end);
  }
  if (!pressure_.is_on()) move_all(ticks_, due_);
  for (TimerInput& timer : due_) {
    if (hold && TRY(batch_.may_be_overtaken(now, timer))) {
      held_.push_back(std::move(timer));
      ++newly_held_;
    } else if (pressure_.is_on() && is_tick(timer)) {
      ticks_.push_back(std::move(timer));
    } else {
      if (const auto* owner = std::get_if<TimerInput::OfInstance>(&timer.owner)) {
        in_hand_.take_instance({owner->space, owner->instance});
      }
      TRY(batch_.apply({now, timer}));
      crash_point(CrashPoint::kTimerApplied);
    }
  }
  return {};
}

/// The batch did not reach the disk: its commands are refused, the rest is tried again.
void Processor::lose_batch(Work work, const Error& error) {
  if (error.code == "store.sync") {
    spdlog::critical("{}; what is on disk is not known, so this process ends", error.message);
    in_hand_.end();  // it is the disk's fault
    std::abort();
  }
  spdlog::error("a batch could not be written and will be tried again: {}", error.message);
  note_lost(error);
  forget_batch(work);
  if (error.code == "store.full") make_room(work);
  for (const CommandInput& one : work.commands) intake_.answer(one.request, tl::unexpected(error));
  work.commands.clear();
  move_all(left_.commands, work.commands);  // what making room has left to do
  move_all(left_.deliveries, work.deliveries);
  move_all(left_.results, work.results);
  move_all(left_.tasks, work.tasks);
  move_all(left_.deliveries_made, work.deliveries_made);
  left_ = std::move(work);
  retry_at_ = parts_.clock.elapsed() + kStoreRetryDelay;
}

/// Brings the caches back in step with the last commit: what the batch has changed in them, and no
/// more.
void Processor::forget_batch(Work& work) {
  Status undone = undo_batch();
  if (undone) {
    move_all(unfinished_, work.continues);
    unfinished_ = std::move(work.continues);
    work.continues.clear();
    return;
  }
  spdlog::error("a lost batch could not be undone, all is read anew: {}", undone.error().message);
  tx_.drop();
  undone = load_caches();
  work.continues.clear();  // found again
  if (!undone) {
    spdlog::critical("the store cannot be read again: {}", undone.error().message);
    in_hand_.end();
    std::abort();
  }
}

void Processor::batch_committed() {
  catalog_.committed();
  waiting_.committed();
  living_.committed();
  dedupe_.committed();
  recent_.committed();
  tasks_.committed();
  hooks_.committed();
  batch_.committed();
  released_.clear();
  newly_held_ = 0;
  ticks_before_ = ticks_;
}

Status Processor::undo_batch() {
  tx_.drop();
  TRY(outbox_.forget_batch(tx_, damages_.noting()));
  std::set<WorkflowNumber> workflows = TRY(catalog_.undo(tx_));
  living_.undo();
  dedupe_.undo();
  tasks_.undo();
  hooks_.undo();
  held_.erase(held_.end() - static_cast<ptrdiff_t>(newly_held_), held_.end());
  held_.insert(held_.begin(), released_.begin(), released_.end());
  ticks_ = ticks_before_;

  const Waiting::Changes changes = waiting_.undo();
  workflows.insert(changes.workflows.begin(), changes.workflows.end());
  for (const WorkflowNumber number : workflows) TRY(restore_workflow(number));
  std::set<std::pair<NamespaceNumber, InstanceId>> instances(changes.instances.begin(),
                                                             changes.instances.end());
  const auto on_their_way = recent_.undo();
  instances.insert(on_their_way.begin(), on_their_way.end());
  for (const auto& [space, id] : instances) TRY(restore_instance(space, id));
  for (const uint64_t number : changes.delayed) {
    const auto read = read_delayed(tx_, number);
    if (!read && is_damaged_row(read.error())) continue;
    const auto record = TRY(read);
    if (record && catalog_.has_namespace(record->space)) {
      waiting_.arm_delayed(number, record->at);
    } else {
      waiting_.disarm_delayed(number);
    }
  }
  for (const uint64_t number : changes.grouped) {
    const auto read = read_grouped(tx_, number);
    if (!read && is_damaged_row(read.error())) continue;
    const auto event = TRY(read);
    if (event && event->record.expires) {
      waiting_.arm_grouped(number, *event->record.expires);
    } else {
      waiting_.disarm_grouped(number);
    }
  }
  TRY(batch_.undo());
  batch_committed();
  return {};
}

Status Processor::restore_workflow(WorkflowNumber number) {
  const WorkflowEntry* const entry = catalog_.find_workflow(number);
  waiting_.disarm_schedule(number);
  if (entry == nullptr) return waiting_.set_start("", number, {});
  return damages_.pass_over(load_workflow(*entry));
}

Status Processor::restore_instance(NamespaceNumber space, const InstanceId& id) {
  const auto read = read_living_head(tx_, space, id);
  if (!read && !is_damaged_row(read.error())) return tl::unexpected(read.error());
  const std::optional<Instance> head = read.value_or(std::nullopt);
  if (!head || !catalog_.has_namespace(space)) {
    recent_.forget(id);
    return waiting_.update("", Instance{.id = id, .space = space});
  }
  const Status waits = waiting_.update(catalog_.name_of(space), *head);
  if (!waits) damages_.note(damaged_instance(space, id, waits.error().message));
  const auto awaited = catalog_.awaited(tx_, head->revision, head->state);
  if (!awaited && is_damaged_row(awaited.error())) {
    recent_.forget(id);
    return {};
  }
  recent_.update(*head, TRY(awaited));
  return {};
}

/// What takes things away does not wait for room: it is taken out of the lost batch and written
/// past the soft limit, and what is kept of messages goes. What then is to be sent makes room in
/// its turn.
void Processor::make_room(Work& work) {
  Work room;
  room.settlements = std::exchange(work.settlements, {});
  room.links = std::exchange(work.links, {});
  const auto kept =
      std::stable_partition(work.commands.begin(), work.commands.end(),
                            [](const CommandInput& one) { return !makes_room(one.command); });
  std::move(kept, work.commands.end(), std::back_inserter(room.commands));
  work.commands.erase(kept, work.commands.end());

  Status applied = hear(room, time_, Outbox::Then::kErase);
  outbox_.drop_kept(tx_);
  if (applied) applied = apply(room.commands, time_);
  if (applied) applied = batch_.purge();
  Result<BatchOutcome> outcome = commit(std::move(applied), time_, Limit::kPassed);
  if (outcome) return note_undone(act(room.links, std::move(*outcome)));
  spdlog::error("nor could room be made: {}", outcome.error().message);
  forget_batch(room);
  move_all(room.commands, work.commands);
  move_all(room.settlements, work.settlements);
  move_all(room.links, work.links);
}

// Out.

/// What is done once a batch is on disk. Returns the first read that has failed: what it was for
/// stays due.
Status Processor::act(const std::vector<Link>& links, BatchOutcome outcome) {
  if (!links.empty()) sends_ = links.back().opened.has_value();
  parts_.metrics.count(outcome.counts);
  parts_.metrics.set({.listeners = waiting_.listeners(),
                      .timers = waiting_.timers(),
                      .outbox_in_flight = outbox_.in_flight(),
                      .outbox_bytes = outbox_.bytes(),
                      .tasks = tasks_.size(),
                      .fan_out = batch_.fan_out(),
                      .refuses = pressure_.is_on(),
                      .damaged_rows = damages_.count(),
                      .patterns_over_limit = waiting_.patterns_over_limit()});
  for (const Duration after : outcome.begun_after) parts_.metrics.schedule_to_start(after);
  move_all(outcome.unfinished, unfinished_);
  move_all(outcome.rest, left_.commands);
  Status done = hand_out(outcome);
  outbox_.committed(std::move(outcome.messages), sends_);
  if (sends_) {
    note_first(done, "the outbox", outbox_.pump(tx_, parts_.clock.elapsed(), damages_.noting()));
  }
  if (!done) tx_.drop();  // it is empty, and else would remember the failure
  for (Effect& effect : outcome.effects) {
    if (auto* asked = std::get_if<Answer>(&effect)) {
      intake_.answer(asked->request, std::move(asked->result));
    } else if (auto* evaluate = std::get_if<Evaluate>(&effect)) {
      crash_point(CrashPoint::kEvaluating);
      ++evaluating_;
      parts_.evaluate(
          std::move(evaluate->evaluation),
          [this, space = evaluate->space, id = evaluate->instance, step = evaluate->step,
           results = std::move(evaluate->before)](EvaluationResult result) mutable {
            results.push_back(std::move(result));
            intake_.evaluated({space, id, step, std::move(results)});
          });
      crash_point(CrashPoint::kEvaluationAsked);
    } else {
      CHECK(false, "publish and dead-letter effects are rows of the batch");
    }
  }
  for (const auto& [space, id] : outcome.ended) end_waiters_.on_end(id);
  return done;
}

/// What is asked of others outside, and taken back.
Status Processor::hand_out(const BatchOutcome& outcome) {
  Status done;
  for (const StartTask& task : outcome.tasks) {
    note_first(done, "a task", tasks_.hand_out(tx_, task));
  }
  for (const InstanceId& task : outcome.stopped_tasks) tasks_.stop(task);
  for (const InstanceId& task : outcome.ended_tasks) tasks_.forget(task);
  note_first(done, "the events for webhooks", hooks_.pump(tx_, time_));
  return done;
}

/// What a read that failed has left undone behind a commit is due again, and /readyz tells of it
/// until it is done.
void Processor::note_undone(const Status& done) {
  redo_at_.reset();
  if (!done) {
    spdlog::error("reading failed and is tried again: {}", done.error().message);
    redo_at_ = parts_.clock.elapsed() + kStoreRetryDelay;
    tx_.drop();  // as in act()
  }
  if (done && !undone_) return;
  undone_ = done ? std::nullopt : std::optional(done.error());
  intake_.set_failure(lost_ ? lost_ : undone_);
}

void Processor::note_lost(const std::optional<Error>& error) {
  if (!error && !lost_) return;
  lost_ = error;
  intake_.set_failure(lost_ ? lost_ : undone_);
}

}  // namespace millrace
