#include "orchestrator/loop/processor.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "orchestrator/batch/crash_note_file.h"
#include "orchestrator/loop/lost_batch.h"
#include "orchestrator/loop/namespace_labels.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "os/crash_point.h"
#include "os/thread.h"

namespace millrace {
namespace {

constexpr Duration kStoreRetryDelay{500};

/// With more instances that continue, a turn gets some of them (continue_queue.h).
constexpr size_t kContinuesInATurn = 512;

/// The processor time of a turn is read, which is a system call, if the turn took so long.
constexpr WorkTime kLongTurn = std::chrono::milliseconds(2);

/// How long acknowledgements of the broker wait for the next commit, unless many of them wait.
constexpr Duration kAckDelay{20};

/// Keeps the first error in `done`, prefixed with the operation that failed.
void note_first(Status& done, std::string_view what, const Status& status) {
  if (!done || status) return;
  const Error& error = status.error();
  done = fail(error.code, fmt::format("{}: {}", what, error.message));
}

/// What waits for a slot, for Levels::queued_starts and Levels::queued_calls.
std::map<std::string, uint64_t> queued_by_name(const EngineState& engine,
                                               const std::map<NamespaceNumber, size_t>& queued) {
  std::map<std::string, uint64_t> by_name;
  for (const auto& [ns, count] : queued) {
    const bool has_name = by_name.size() < kMostNamespaceLabels && engine.catalog.has_namespace(ns);
    by_name[has_name ? engine.catalog.name_of(ns) : kOtherNamespaces] += count;
  }
  return by_name;
}

}  // namespace

Processor::Processor(ProcessorParts parts, ProcessorOptions options)
    : parts_(std::move(parts)),
      intake_(parts_.intake),
      engine_(parts_.engine, options.engine, intake_),
      pressure_(parts_.engine.environment, options.marks),
      applier_(engine_, intake_),
      end_waiters_(parts_.engine.environment, engine_.catalog),
      is_careful_start_(options.is_careful),
      on_log_error_(std::move(options.on_log_error)) {}

Processor::~Processor() { stop(); }

Status Processor::load() {
  TRY(check_store(engine_));
  TRY(build_missing_index(engine_, progress_));
  TRY(engine_.outbox.load(engine_.tx, engine_.damages.noting()));
  const Environment& disk = parts_.engine.environment;
  TRY(disk.is_led() ? engine_.crash_note.open_row(engine_.tx)
                    : engine_.crash_note.open(disk.folder()));
  TRY(load_state());
  TRY(learn_from_death());
  loaded_ = true;
  return {};
}

Status Processor::load_state() {
  continuing_.clear();
  look_backs_.clear();
  has_queue_ = false;
  unfinished_ = TRY(millrace::load(engine_, progress_));
  time_ = std::max(TRY(read_engine_time(engine_.tx)), time_);
  fired_ = false;
  backlog_ = {.has_steps = true, .has_purges = true};  // unknown; the first turn looks for all
  backlog_.retention.has_steps = true;
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
  const Error stopping{"stopping", "millrace is stopping; try again"};
  for (const Refuse& refuse : left) refuse(stopping);
}

Status Processor::started() const {
  if (loaded_) return {};
  return fail("starting", describe(progress_));
}

Status Processor::ready() const {
  if (!applier_.reads_events()) {
    return fail("broker.unreachable", "the event stream is not being read: no connection to NATS");
  }
  TRY(intake_.goes_on());
  TRY(engine_.damages.ready());
  return intake_.takes_new_work();
}

void Processor::run() {
  name_thread("engine");
  run_promptly();
  const SignalStack stack;
  while (!has_ended_) {
    auto wake = next_wake();
    const bool at_rest = engine_.outbox.idle() && wake != Duration(0);
    if (engine_.outbox.in_flight() > 0) wake = std::min(wake.value_or(kAckDelay), kAckDelay);
    // While the store refuses commits, only the passing of time ends the sleep.
    const bool through = retry_at_.has_value();
    if (!intake_.sleep({.at_most = wake, .through = through, .at_rest = at_rest})) return;
    turn();
  }
}

std::optional<Duration> Processor::next_wake() const {
  std::optional<Duration> next;
  if (has_ended_) return next;
  const auto sooner = [&](Duration wait) {
    wait = std::max(wait, Duration(0));
    next = std::min(next.value_or(wait), wait);
  };
  const Duration elapsed = engine_.clock.elapsed();
  if (retry_at_) return std::max(*retry_at_ - elapsed, Duration(0));
  if (resend_at_) {
    sooner(*resend_at_ - elapsed);
  } else if ((fired_ && engine_.tasks.has_due()) || (sends_ && engine_.outbox.has_due())) {
    sooner(Duration(0));
  }
  const auto waits_until = applier_.waits_until();  // what is left and the unfinished steps wait
  const bool has_left = !left_.empty() || has_queue_ || (!pressure_.is_on() && backlog_.has_steps);
  const bool waits = waits_until && !(has_queue_ && continuing_.has_other_lanes());
  const bool has_inputs = (left_.has_inputs() && !waits) || (!pressure_.is_on() && relieved_);
  const Duration rest = has_inputs ? Duration(0) : applier_.rest();
  if (!unfinished_.empty() || (has_left && !waits) || backlog_.has_purges ||
      backlog_.has_archived || backlog_.retention.has_steps || (!pressure_.is_on() && relieved_)) {
    sooner(rest);
  } else if (has_left) {
    sooner(std::chrono::ceil<Duration>(*waits_until - engine_.clock.precise()));
  }
  if (applier_.has_timers_left()) sooner(rest);
  if (const auto deadline = engine_.waiting.next_deadline()) {
    sooner(std::max(*deadline - std::max(time_, engine_.clock.now()), rest));
  }
  for (const auto& at :
       {backlog_.retention.next_pass, backlog_.archive_retry_at, backlog_.effects_at}) {
    if (at) sooner(std::max(*at - std::max(time_, engine_.clock.now()), rest));
  }
  if (const auto due = engine_.webhook_outbox.next_due(); due && !resend_at_) {
    sooner(*due - std::max(time_, engine_.clock.now()));
  }
  if (const auto at = engine_.tasks.next_time()) sooner(*at - elapsed);
  if (sends_ && engine_.outbox.retry_at()) sooner(*engine_.outbox.retry_at() - elapsed);
  if (const auto at = pressure_.look_again_at()) sooner(*at - elapsed);
  if (const auto deadline = end_waiters_.next_deadline()) sooner(*deadline - elapsed);
  return next;
}

void Processor::measure_pressure() {
  const bool was_on = pressure_.is_on();
  // Results that the turns so far have left are in memory, as evaluations under way are.
  const EvaluationLoad evaluations = evaluating_ + load_of(left_.evaluated);
  const std::optional<Error>& cause =
      pressure_.measure(engine_.clock.elapsed(), engine_.outbox.bytes(), evaluations);
  if (cause && !was_on) spdlog::warn("new work must wait: {}", cause->message);
  if (!cause && was_on) {
    spdlog::info("new work is accepted again");
    relieved_ = true;
  }
  intake_.set_refusal(cause);
}

bool Processor::turn() {
  if (has_ended_ || (retry_at_ && !is_due())) return false;
  const TimePoint now = std::max(time_, engine_.clock.now());
  measure_pressure();
  Work work = take_work();
  if (work.empty() && !is_due()) return false;
  retry_at_.reset();
  time_ = now;
  note_work(work);
  std::vector<EndWaiter> waiters = std::exchange(work.waiters, {});
  const TurnState state{.now = now,
                        .backlog = backlog_,
                        .takes_new_work = !pressure_.is_on(),
                        .store_is_full = pressure_.store_is_full(),
                        .checkpoint_rate = parts_.engine.environment.checkpoint_rate(),
                        .heavy_rate = pressure_.heavy_rate(),
                        .store_is_behind = parts_.engine.environment.is_behind()};
  if (state.takes_new_work) relieved_ = false;
  const WorkTime began = engine_.clock.precise();
  Result<BatchOutcome> outcome = commit(applier_.apply(work, left_, state), Limit::kKept);
  const bool is_committed = outcome.has_value();
  if (is_committed) {
    note_lost(std::nullopt);
    fired_ = fired_ || !applier_.has_timers_left();
    finish(work.stream_changes, *std::move(outcome));
  } else {
    lose_batch(std::move(work), outcome.error());
  }
  engine_.crash_note.end();
  if (!has_ended_) send_backlog();
  if (is_committed) report_turn(began);
  const Duration elapsed = engine_.clock.elapsed();
  end_waiters_.add(std::move(waiters), elapsed);
  end_waiters_.expire(elapsed);
  if (!has_ended_) measure_pressure();
  return true;
}

/// Called before the counters of the batch are added, so that a message which the counters show as
/// published is already in the gauge of messages in flight.
void Processor::set_gauges() {
  parts_.metrics.set({.listeners = engine_.waiting.listeners(),
                      .timers = engine_.waiting.timers(),
                      .outbox_in_flight = engine_.outbox.in_flight(),
                      .outbox_bytes = engine_.outbox.bytes(),
                      .tasks = engine_.tasks.size(),
                      .tasks_held = engine_.tasks.held(),
                      .fan_out = backlog_.fan_out,
                      .undecided = backlog_.undecided,
                      .queued_starts = queued_by_name(engine_, engine_.live.queued_starts()),
                      .queued_calls = queued_by_name(engine_, engine_.tasks.awaiting_slots()),
                      .refuses = pressure_.is_on(),
                      .damaged_rows = engine_.damages.count(),
                      .patterns_over_limit =
                          engine_.waiting.patterns_over_limit() + backlog_.patterns_over_limit});
}

/// Reports how long a turn took that began at `began`, and whose batch is on disk.
void Processor::report_turn(WorkTime began) {
  const WorkTime ended = engine_.clock.precise();
  TurnTimes times{.turn = {.elapsed = ended - began,
                           .apply = commit_began_ - began,
                           .commit = commit_ended_ - commit_began_,
                           .perform = ended - commit_ended_},
                  .units = engine_.meter.take_longest()};
  if (ended - began >= kLongTurn) times.turn.processor = engine_.meter.processor_time_of_turn();
  parts_.metrics.add_turn(times);
}

/// Counts the events of each namespace in the batch, and what its quotas refused.
void Processor::show_namespaces(const BatchCounts& counts) {
  const auto name_of = [&catalog = engine_.catalog](NamespaceNumber ns) -> std::string {
    return catalog.has_namespace(ns) ? catalog.name_of(ns) : kOtherNamespaces;
  };
  for (const auto& [ns, traffic] : counts.traffic) {
    parts_.metrics.count_traffic(name_of(ns), traffic);
  }
  for (const auto& [ns, refused] : counts.over_quota) {
    const std::string name = name_of(ns);
    for (size_t i = 0; i < kQuotas; ++i) {
      parts_.metrics.count_over_quota(name, static_cast<Quota>(i), refused[i]);
    }
  }
}

/// Shows in the metrics what the batch has changed of the retention. Most batches change nothing.
void Processor::show_retention(const BatchOutcome& outcome) {
  const Catalog& catalog = engine_.catalog;
  Metrics& metrics = parts_.metrics;
  for (const auto& [ns, counts] : outcome.counts.retention) {
    metrics.count_retention(catalog.name_of(ns), counts);
  }
  for (const auto& [ns, failure] : outcome.counts.archives) {
    if (catalog.has_namespace(ns)) metrics.count_archive(catalog.name_of(ns), failure);
  }
  const RetentionPlan& plan = outcome.backlog.retention;
  const bool is_changed =
      outcome.pass_end || plan.is_running != passes_.is_running || plan.next_pass != passes_.next;
  if (!is_changed) return;
  if (outcome.pass_end) passes_.last_end = outcome.pass_end->at;
  passes_.is_running = plan.is_running;
  passes_.next = plan.next_pass;
  metrics.set_passes(PassKind::kInstances, passes_);
  const bool has_rules = passes_.is_running || passes_.next;
  if (has_rules && !outcome.pass_end) return;
  std::map<std::string, TimePoint> next_due;
  if (has_rules) {
    for (const auto& [ns, due] : outcome.pass_end->next_due) {
      if (catalog.has_namespace(ns)) next_due.emplace(catalog.name_of(ns), due);
    }
  }
  metrics.set_next_due(next_due);
}

/// Takes the work that earlier turns left, and all waiting inputs.
Work Processor::take_work() {
  Work work = std::exchange(left_, {});
  move_all(unfinished_, work.continues);
  if (has_queue_ || work.continues.size() > kContinuesInATurn) {
    work.continues = continuing_.next(std::move(work.continues));
    has_queue_ = !continuing_.empty();
  }
  const size_t evaluated = work.evaluated.size();
  intake_.gather(work);
  intake_.answer_question({engine_.waiting, engine_.dedupe, engine_.kept_events});
  const auto results = std::span(work.evaluated).subspan(evaluated);
  evaluating_ -= load_of(results);
  for (const EvaluatedInput& one : results) evaluations_.remove(one.instance, one.step);
  return work;
}

/// Writes the crash note for the work of this turn.
void Processor::note_work(Work& work) {
  if (careful_ > 0) {
    --careful_;
    keep_first(work);
    engine_.crash_note.begin_careful(1);
  } else {
    engine_.crash_note.begin(work.size());
  }
  crash_point(CrashPoint::kGathered);
}

/// Commits the batch if all inputs of the batch were applied.
Result<BatchOutcome> Processor::commit(Result<BatchOutcome> applied, Limit limit) {
  BatchOutcome outcome = TRY(std::move(applied));
  commit_began_ = engine_.clock.precise();
  if (pressure_.store_is_full()) {
    engine_.outbox.drop_acked(engine_.tx);
  } else if (sends_ && !engine_.tx.write_set().empty()) {
    // Until the stream is open, it is not known whether the broker still has old acked messages.
    engine_.outbox.trim_acked(engine_.tx, time_);
  }
  engine_.crash_note.add_removal(engine_.tx);
  crash_point(CrashPoint::kFinished);
  TRY(engine_.tx.commit(limit));
  engine_.crash_note.batch_committed();
  engine_.batches.begin();
  commit_ended_ = engine_.clock.precise();
  engine_.meter.end_commit();
  return outcome;
}

/// Performs the actions of a batch that is on disk.
void Processor::finish(const std::vector<StreamChange>& changes, BatchOutcome outcome) {
  if (!changes.empty()) sends_ = changes.back().opened.has_value();
  backlog_ = outcome.backlog;
  intake_.set_applied(outcome.cursor);
  FollowingTurns next = perform({.outbox = engine_.outbox,
                                 .tasks = engine_.tasks,
                                 .evaluate = parts_.evaluate,
                                 .evaluations = evaluations_,
                                 .look_backs = look_backs_,
                                 .archive = parts_.archive,
                                 .intake = intake_,
                                 .end_waiters = end_waiters_,
                                 .sends = sends_},
                                std::move(outcome.actions));
  evaluating_ += next.evaluations;
  move_all(next.continues, unfinished_);
  move_all(next.commands, left_.commands);
  set_gauges();
  parts_.metrics.count(outcome.counts);
  show_namespaces(outcome.counts);
  show_retention(outcome);
}

/// Sends what earlier commits left to be sent: outbox messages that waited for others or failed,
/// due webhooks, tasks found at startup, and tasks with files. Anything that cannot be read stays
/// due, and /readyz reports it.
void Processor::send_backlog() {
  Status sent;
  // The acknowledgements and stream changes of a lost batch are applied again first: a stream
  // change may put back messages that come before the waiting ones, and an acknowledgement may
  // change what must be sent.
  if (sends_ && left_.acks.empty() && left_.stream_changes.empty()) {
    note_first(sent, "the outbox",
               engine_.outbox.pump(engine_.tx, engine_.clock.elapsed(), note_damage_));
  }
  note_first(sent, "the events for webhooks", engine_.webhook_outbox.pump(engine_.tx, time_));
  // A timer that was due at startup may end a task, so such timers fire before.
  if (fired_) note_first(sent, "the tasks", engine_.tasks.hand_out_due(engine_.tx));
  note_unsent(sent);
}

// A batch that did not reach the disk.

/// Refuses the commands of a lost batch; its other inputs are tried again.
void Processor::lose_batch(Work work, const Error& error) {
  if (ends_engine(error)) return end(work, error);
  spdlog::error(
      "a batch could not be written, so its commands are refused and its other inputs are applied "
      "again: {}",
      error.message);
  note_lost(error);
  forget_batch(work);
  if (error.code == "store.full") make_room(work);
  for (const CommandInput& one : work.commands) intake_.answer(one.request, tl::unexpected(error));
  work.commands.clear();
  move_all(left_.commands, work.commands);  // what is left of the commands that make_room() applied
  move_all(left_.continues, unfinished_);
  move_all(left_.deliveries, work.deliveries);
  move_all(left_.evaluated, work.evaluated);
  move_all(left_.tasks, work.tasks);
  move_all(left_.webhook_results, work.webhook_results);
  left_ = std::move(work);
  retry_at_ = engine_.clock.elapsed() + kStoreRetryDelay;
}

/// Reverts memory to the last commit: undoes the changes of the batch, or reads the whole store
/// again if that fails.
void Processor::forget_batch(Work& work) {
  const Status undone = undo(engine_);
  if (undone) {
    move_all(unfinished_, work.continues);
    unfinished_ = std::move(work.continues);
    work.continues.clear();
    return;
  }
  spdlog::error("a lost batch could not be undone, so the store is read again: {}",
                undone.error().message);
  engine_.tx.drop();
  work.continues.clear();  // load_state() finds them again
  if (const Status loaded = load_state(); !loaded) {
    spdlog::critical("the store cannot be read again: {}", loaded.error().message);
    engine_.crash_note.end();
    std::abort();
  }
}

/// Inputs that free space do not wait for space: they are taken out of the lost batch and written
/// past the soft limit, and the stored acked messages are erased. The messages that can then be
/// sent free space in turn.
void Processor::make_room(Work& work) {
  Work room;
  room.acks = std::exchange(work.acks, {});
  room.stream_changes = std::exchange(work.stream_changes, {});
  room.archived = std::exchange(work.archived, {});
  const auto kept =
      std::stable_partition(work.commands.begin(), work.commands.end(),
                            [](const CommandInput& one) { return !makes_room(one.command); });
  std::move(kept, work.commands.end(), std::back_inserter(room.commands));
  work.commands.erase(kept, work.commands.end());

  Result<BatchOutcome> outcome = commit(applier_.make_room(room, time_), Limit::kPassed);
  if (outcome) return finish(room.stream_changes, *std::move(outcome));
  if (ends_engine(outcome.error())) return end(room, outcome.error());
  spdlog::error("no space could be freed in the store: {}", outcome.error().message);
  forget_batch(room);
  move_all(room.commands, work.commands);
  move_all(room.acks, work.acks);
  move_all(room.stream_changes, work.stream_changes);
  move_all(room.archived, work.archived);
}

/// Keeps the error of a lost batch, which /readyz reports.
void Processor::note_lost(const std::optional<Error>& error) {
  if (!error && !lost_) return;
  lost_ = error;
  intake_.set_failure(lost_ ? lost_ : unsent_);
}

/// If something to be sent could not be read: schedules another read; until that read succeeds,
/// /readyz reports the failure.
void Processor::note_unsent(const Status& sent) {
  resend_at_.reset();
  if (!sent) {
    spdlog::error("reading messages, webhooks or tasks to send failed and is tried again: {}",
                  sent.error().message);
    resend_at_ = engine_.clock.elapsed() + kStoreRetryDelay;
    engine_.tx.drop();  // the transaction is empty; without drop() it would keep the read error
  }
  if (sent && !unsent_) return;
  unsent_ = sent ? std::nullopt : std::optional(sent.error());
  intake_.set_failure(lost_ ? lost_ : unsent_);
}

}  // namespace millrace
