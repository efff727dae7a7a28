#include "orchestrator/engine/engine.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "language/own_policy.h"
#include "model/hops.h"
#include "states/retrying.h"
#include "states/state.h"
#include "states/visit.h"

namespace millrace {
namespace {

/// The longest text of one `log`; a longer one is an error.
constexpr size_t kMaxLogBytes = size_t{64} << 10;

/// One call of step(): what it works on and what it has found so far.
class Stepper {
 public:
  Stepper(const Workflow& workflow, Instance& instance, TimePoint now, const Lookup& lookup,
          const EngineLimits& limits)
      : workflow_(workflow), instance_(instance), now_(now), lookup_(lookup), limits_(limits) {}

  StepResult run(const Stimulus& stimulus) {
    if (revives(stimulus) == (instance_.phase == Phase::kEnded)) {
      std::visit([this](const auto& one) { apply(one); }, stimulus);
    }
    return std::move(result_);
  }

  /// The timeouts that each run has for itself.
  static void arm_run(Instance& instance, const Workflow& workflow, TimePoint now) {
    arm(instance, TimerKind::kInterrupt, workflow.timeouts.interrupt, now);
    arm(instance, TimerKind::kKill, workflow.timeouts.kill, now);
    const OwnPolicy own = read_own_policy(instance.own_policy);
    arm(instance, TimerKind::kRun, own.run ? own.run : workflow.timeouts.run, now);
  }

  static void arm_execution(Instance& instance, const Workflow& workflow) {
    const auto deadline = execution_deadline(workflow, instance);
    if (deadline) instance.timers.push_back({TimerKind::kExecution, *deadline});
  }

  static void arm(Instance& instance, TimerKind kind, const std::optional<Span>& span,
                  TimePoint now) {
    if (span) arm(instance, {kind, span->after(now)});
  }

  /// While the instance is paused, timers of its step do not count.
  static void arm(Instance& instance, const Timer& timer) {
    const bool is_held = instance.paused && waits_for_resume(timer.kind);
    (is_held ? instance.held_timers : instance.timers).push_back(timer);
  }

  static bool waits_for_resume(TimerKind kind) {
    return is_of_state(kind) || kind == TimerKind::kInterrupt;
  }

  /// The timeout counts from the moment when the state is scheduled, expressions included.
  static void begin_state(Instance& instance, const StateCommon& common, TimePoint now) {
    instance.phase = Phase::kEntering;
    instance.entered = instance.step;
    arm(instance, TimerKind::kStateTimeout, common.timeout, now);
  }

 private:
  Visit visiting(std::span<const EvaluationResult> results) {
    return Visit(instance_, now_, results, lookup_, result_.effects);
  }

  const State& state() const { return *workflow_.states[instance_.state]; }

  // What each stimulus does. One that is stale leaves the instance as it is.

  void apply(const Proceed&) {
    if (instance_.phase == Phase::kWaiting || instance_.paused) return;
    proceed({});
  }

  void apply(const Resumed& resumed) {
    if (!instance_.parked || instance_.paused || instance_.step != resumed.step) return;
    proceed(resumed.results);
  }

  void apply(const Matched& matched) {
    if (instance_.phase != Phase::kWaiting) return;
    instance_.listen_from = matched.position;
    const Event& event = *matched.event;
    instance_.hops = hops_of(event);
    tell(HistoryKind::kWoken,
         LazyJson::object({{"type", event.type}, {"source", event.source}, {"id", event.id}}));
    const LazyJson found = instance_.data;
    Visit visit = visiting({});
    settle(visit, state().take(visit, event, matched.entries));
    keep_found(visit, found);
    proceed({});
  }

  void apply(const Returned& returned) {
    if (!still_waits_for(returned.call)) return;
    instance_.sealed = instance_.sealed || returned.sealed;
    if (instance_.cancelling) return task_is_over(returned.call.index);
    const LazyJson found = instance_.data;
    Visit visit = visiting({});
    settle(visit, state().returned(visit, returned.call.index, returned.result,
                                   now_ + returned.retry_after.value_or(Duration(0))));
    keep_found(visit, found);
    proceed({});
  }

  void apply(const Begun& begun) {
    // A worker that has the task took it in time, however late that is reported: its runner is
    // asked before a schedule-to-start deadline counts.
    if (waits_for(instance_, begun.call)) {
      auto& deadlines = instance_.calls[begun.call.index].deadlines;
      deadlines[static_cast<size_t>(TimeoutKind::kScheduleToStart)].reset();
    }
    if (!still_waits_for(begun.call)) return;
    Visit visit = visiting({});
    if (state().begun(visit, begun.call.index)) result_.changed = true;
  }

  void apply(const Silent& silent) {
    if (instance_.paused || !still_waits_for(silent.call)) return;
    if (instance_.cancelling) return stop_task(silent.call.index);
    Visit visit = visiting({});
    settle(visit, state().silent(visit, silent.call.index));
    proceed({});
  }

  void apply(const Printed& printed) {
    if (!waits_for(instance_, printed.call)) return;
    tell(HistoryKind::kOutput, Json{{"index", printed.call.index}, {"text", printed.text}});
    result_.changed = true;
  }

  void apply(const Overdue&) {
    while (waits_for_calls() && fire_overdue()) {
    }
    if (result_.changed) proceed({});
  }

  /// What is told of a call past a deadline that would have ended it is of no use: the deadline
  /// comes first.
  bool still_waits_for(const Caller& call) {
    while (waits_for(instance_, call) && fire_overdue()) {
    }
    if (waits_for(instance_, call)) return true;
    if (result_.changed) proceed({});
    return false;
  }

  bool waits_for_calls() const {
    return instance_.phase == Phase::kWaiting && !instance_.calls.empty();
  }

  void apply(const Fired& fired) {
    auto& timers = instance_.timers;
    Timer timer{fired.kind, fired.deadline};
    if (std::find(timers.begin(), timers.end(), timer) == timers.end()) return;
    const auto execution = std::find_if(timers.begin(), timers.end(), [&](const Timer& one) {
      return one.kind == TimerKind::kExecution && one.deadline <= fired.deadline;
    });
    if (execution != timers.end()) {
      timer = *execution;  // where they fall together, it is first
    } else if (fired.kind == TimerKind::kRetry) {
      timer = first_overdue().value_or(timer);  // no attempt begins past a deadline
    }
    timers.erase(std::find(timers.begin(), timers.end(), timer));
    fire({timer.kind, timer.deadline});
    proceed({});
  }

  /// The timeout of the state or of the whole that passed first, if one has.
  std::optional<Timer> first_overdue() const {
    std::optional<Timer> first;
    const auto rank = [](const Timer& timer) {
      return std::pair(timer.deadline, timer.kind != TimerKind::kExecution);
    };
    for (const Timer& timer : instance_.timers) {
      const bool is_timeout = timer.kind == TimerKind::kStateTimeout || !is_of_state(timer.kind);
      if (!is_timeout || timer.deadline > now_) continue;
      if (!first || rank(timer) < rank(*first)) first = timer;
    }
    return first;
  }

  /// The first deadline of the calls, if it has passed.
  std::optional<TimePoint> first_overdue_call() const {
    std::optional<TimePoint> first;
    if (instance_.paused) return first;
    for (const Call& call : instance_.calls) {
      for (const auto& deadline : call.deadlines) {
        if (deadline && *deadline <= now_) first = std::min(first.value_or(*deadline), *deadline);
      }
    }
    return first;
  }

  /// Fires the timeout that passed first, of those of the calls, the state and the whole. Whether
  /// there was one; what follows it is not begun.
  bool fire_overdue() {
    const std::optional<Timer> timer = first_overdue();
    const std::optional<TimePoint> call = first_overdue_call();
    if (!timer && !call) return false;
    result_.changed = true;
    if (timer && (!call || timer->deadline <= *call)) {
      std::erase(instance_.timers, *timer);
      fire({timer->kind, timer->deadline});
    } else if (instance_.cancelling) {
      stop_overdue_tasks();
    } else {
      Visit visit = visiting({});
      settle(visit, state().overdue(visit, *call));
    }
    return true;
  }

  /// Timeouts in their order, then attempts: document 004, one that comes due when a deadline has
  /// passed is not made.
  void fire_calls() {
    while (waits_for_calls() && fire_overdue()) {
    }
    if (!waits_for_calls() || instance_.cancelling) return;
    Visit visit = visiting({});
    settle(visit, state().attempts_due(visit));
  }

  void fire(const Fired& fired) {
    // The history has each entry, also of a state that is left while it evaluates.
    if (instance_.parked && instance_.phase == Phase::kEntering) tell(HistoryKind::kEntered);
    switch (fired.kind) {
      case TimerKind::kStateTimeout:
        return raise({"direktiv.stateTimeout",
                      fmt::format("state \"{}\" timed out at {}", state().common().id,
                                  format_rfc3339(fired.deadline))});
      case TimerKind::kDelay: {
        tell(HistoryKind::kElapsed);
        Visit visit = visiting({});
        return settle(visit, state().elapsed(visit));
      }
      case TimerKind::kRetry:
        if (instance_.awaits_run) return begin_run();
        if (instance_.calls.empty()) return enter_again();
        [[fallthrough]];  // format 4 had no timer of its own for calls
      case TimerKind::kCalls:
        return fire_calls();
      case TimerKind::kInterrupt:
        return raise(timed_out("interrupt", fired.deadline), Retries::kNo);
      case TimerKind::kKill:
        return run_out(timed_out("kill", fired.deadline), InstanceStatus::kTimedOut);
      case TimerKind::kRun:
        return run_out({"millrace.timeout.run",
                        fmt::format("the run's timeout was {}", format_rfc3339(fired.deadline))},
                       InstanceStatus::kTimedOut);
      case TimerKind::kExecution:
        return execution_ran_out(
            {"millrace.timeout.execution",
             fmt::format("the execution's deadline was {}", format_rfc3339(fired.deadline))});
    }
  }

  void run_out(const WorkflowError& error, InstanceStatus status) {
    if (instance_.cancelling) status = InstanceStatus::kCancelled;
    tell_error(HistoryKind::kRaised, error);
    note_failure();
    fail(error, status, Retries::kNo);
  }

  /// Document 004: past its deadline an execution has failed, and `on_failure` has its chance to
  /// clean up. Document 001: it is timed out, and that is all.
  void execution_ran_out(const WorkflowError& error) {
    if (!workflow_.timeouts.fails || instance_.cancelling) {
      return run_out(error, InstanceStatus::kTimedOut);
    }
    if (!workflow_.timeouts.on_failure || instance_.failing) {
      instance_.failing = true;
      return run_out(error, InstanceStatus::kFailed);
    }
    tell_error(HistoryKind::kRaised, error);
    note_failure();
    if (!instance_.error) instance_.error = error;
    go_through_on_failure(error);
  }

  /// Document 004: once, past the deadlines of the whole but `kill`; whatever comes of it, the
  /// instance has failed.
  void go_through_on_failure(const WorkflowError& error) {
    instance_.failing = true;
    clear_waits();
    const auto ends = [](const Timer& timer) { return timer.kind != TimerKind::kKill; };
    std::erase_if(instance_.timers, ends);
    std::erase_if(instance_.held_timers, ends);
    instance_.awaits_run = false;
    instance_.transitions = 0;
    put_error(error);
    go_to(workflow_.timeouts.on_failure);
  }

  static WorkflowError timed_out(std::string_view which, TimePoint deadline) {
    return {"direktiv.cancels.timeout", fmt::format("the workflow's `timeouts.{}` ran out at {}",
                                                    which, format_rfc3339(deadline))};
  }

  void apply(const Cancel& cancel) {
    if (instance_.cancelling && !cancel.at_once) return;
    tell_error(HistoryKind::kCancelled, cancel.error);
    if (!instance_.error) instance_.error = cancel.error;
    cancels_at_once_ = cancel.at_once;
    if (cancel.at_once || !has_tasks()) return end(InstanceStatus::kCancelled);
    // Document 004: what runs may finish, and nothing else is scheduled.
    instance_.cancelling = true;
    instance_.paused = false;
    instance_.status = InstanceStatus::kWaiting;
    instance_.held_timers.clear();
    std::erase_if(instance_.timers,
                  [](const Timer& timer) { return waits_for_resume(timer.kind); });
    for (Call& call : instance_.calls) {
      if (call.status == Call::Status::kRunning && call.outside) continue;
      if (call.status == Call::Status::kRunning) {
        result_.effects.push_back(stopping(instance_, call, false));
      }
      if (call.status != Call::Status::kDone) call.status = Call::Status::kFailed;
      call.retry_at.reset();
      call.deadlines = {};
    }
    visiting({}).arm_calls();
    result_.changed = true;
  }

  /// Their timeouts hold for tasks that a cancelled instance lets finish.
  void stop_overdue_tasks() {
    for (size_t i = 0; i < instance_.calls.size(); ++i) {
      const Call& call = instance_.calls[i];
      const auto is_over = [&](const auto& deadline) { return deadline && *deadline <= now_; };
      if (std::none_of(call.deadlines.begin(), call.deadlines.end(), is_over)) continue;
      stop_task(i);
      if (instance_.phase == Phase::kEnded) return;
    }
    visiting({}).arm_calls();
  }

  /// Ends the wait for one of them whose timeout has passed.
  void stop_task(size_t index) {
    result_.effects.push_back(stopping(instance_, instance_.calls[index]));
    task_is_over(index);
  }

  bool has_tasks() const {
    return std::any_of(instance_.calls.begin(), instance_.calls.end(), [](const Call& call) {
      return call.status == Call::Status::kRunning && call.outside;
    });
  }

  /// One of those that a cancelled instance lets finish.
  void task_is_over(size_t index) {
    Call& call = instance_.calls[index];
    tell(HistoryKind::kReturned,
         Json{{"task", to_string(call.id)}, {"index", index}, {"attempt", call.attempt}});
    call.status = Call::Status::kFailed;
    call.deadlines = {};
    result_.changed = true;
    if (!has_tasks()) end(InstanceStatus::kCancelled);
  }

  void apply(const Pause&) {
    if (instance_.paused || instance_.cancelling) return;
    tell(HistoryKind::kPaused);
    instance_.paused = true;
    instance_.status = InstanceStatus::kPaused;
    const auto holds = [](const Timer& timer) { return waits_for_resume(timer.kind); };
    std::copy_if(instance_.timers.begin(), instance_.timers.end(),
                 std::back_inserter(instance_.held_timers), holds);
    std::erase_if(instance_.timers, holds);
    result_.changed = true;
  }

  /// Timeouts of the step count anew; a delay, and the wait for another attempt, end when they were
  /// to end.
  void apply(const Resume&) {
    if (!instance_.paused) return;
    tell(HistoryKind::kResumed);
    instance_.paused = false;
    instance_.parked = false;
    for (const Timer& timer : std::exchange(instance_.held_timers, {})) {
      if (timer.kind == TimerKind::kStateTimeout) {
        arm(instance_, timer.kind, state().common().timeout, now_);
      } else if (timer.kind != TimerKind::kCalls) {
        instance_.timers.push_back(timer);
      }
    }
    result_.changed = true;
    if (instance_.phase == Phase::kWaiting) {
      instance_.status = InstanceStatus::kWaiting;
      if (instance_.calls.empty()) return;
      Visit visit = visiting({});
      settle(visit, state().resumed(visit));
    }
    proceed({});
  }

  void apply(const ServicesResumed& resumed) {
    if (!waits_for_calls() || instance_.cancelling) return;
    Visit visit = visiting({});
    if (state().services_resumed(visit, resumed.names)) result_.changed = true;
  }

  void apply(const Retry& retry) {
    const StateIndex at = failed_state_of(workflow_, instance_);
    const auto& data = instance_.failed_data ? instance_.failed_data : retry.data;
    if (data) instance_.data = *data;
    if (retry.extend) instance_.execution_from = now_;
    revive("retry", at);
    instance_.retried = true;
    go_on_revived(retry.paused);
  }

  void apply(const Restart& restart) {
    instance_.data = instance_.input;
    instance_.execution_from = now_;
    ++instance_.run;
    revive("restart", workflow_.start.state);
    go_on_revived(restart.paused);
  }

  void apply(const Rerun& rerun) {
    instance_.data = rerun.data;
    instance_.execution_from = now_;
    ++instance_.run;
    revive("rerun", rerun.state);
    go_on_revived(rerun.paused);
  }

  /// It has ended and lives again. A caller was told of its end, and is not told again; the
  /// workflow's own policy begins anew.
  void revive(std::string_view how, StateIndex at) {
    tell(HistoryKind::kRevived, LazyJson::object({{"how", how}}));
    instance_.ended_at.reset();
    instance_.error.reset();
    instance_.failing = false;
    instance_.cancelling = false;
    instance_.awaits_run = false;
    instance_.caller.reset();
    instance_.depth = 0;
    instance_.hops = 0;
    instance_.first_run = instance_.run;
    instance_.runs_from = now_;
    instance_.status = InstanceStatus::kPending;
    arm_execution(instance_, workflow_);
    begin_at(at);
  }

  void go_on_revived(bool paused) {
    if (paused) apply(Pause{});
    proceed({});
  }

  /// A run begins, with the data that the instance has by now.
  void begin_at(StateIndex at) {
    instance_.state = at;
    instance_.attempt = 1;
    instance_.transitions = 0;
    instance_.retried = false;
    forget_failure();
    instance_.found_data.reset();
    instance_.state_from = now_;
    ++instance_.step;
    arm_run(instance_, workflow_, now_);
    begin_state(instance_, state().common(), now_);
  }

  /// What ends the process again and again gets no other run and no `on_failure`.
  void apply(const Abandon& abandon) {
    tell_error(HistoryKind::kRaised, abandon.error);
    note_failure();
    instance_.failing = true;
    fail(abandon.error);
  }

  /// Runs through states until the instance waits, parks, ends or reaches the bound.
  void proceed(std::span<const EvaluationResult> results) {
    result_.changed = true;
    if (instance_.paused && instance_.phase != Phase::kEnded) {
      instance_.status = InstanceStatus::kPaused;
      return;
    }
    const uint32_t begin = instance_.transitions;
    do {
      if (instance_.phase != Phase::kEntering && instance_.phase != Phase::kLeaving) {
        // An event that came in time may lead here past a deadline of the whole: then no call is
        // handed out. A wait for events may yet get one that came in time.
        const bool rests = instance_.phase == Phase::kWaiting && instance_.listeners.empty();
        if (!rests || !fire_overdue()) return;
        continue;
      }
      if (instance_.transitions - begin >= limits_.transitions_per_step ||
          variable_bytes_ >= limits_.variable_bytes_per_step) {
        result_.unfinished = true;
        return;
      }
      instance_.parked = false;
      instance_.status = InstanceStatus::kRunning;
      Visit visit = visiting(results);
      if (instance_.phase == Phase::kEntering) {
        enter(visit);
      } else {
        leave(visit);
      }
      results = {};  // they were this step's
    } while (!instance_.parked);
  }

  void enter(Visit& visit) {
    const LazyJson data = instance_.data;
    const bool had_error = instance_.error.has_value();
    const Outcome outcome = log_and_enter(visit);
    if (!std::holds_alternative<Park>(outcome)) {
      tell(HistoryKind::kEntered);
      if (std::holds_alternative<Wait>(outcome) || visit.has_effects()) {
        result_.history.back().data = data;
      }
    }
    if (instance_.error && !had_error) note_failure(data);
    settle(visit, outcome);
    keep_found(visit, data);
  }

  Outcome log_and_enter(Visit& visit) {
    if (const auto& log = state().common().log) {
      auto value = visit.evaluate(*log);
      if (!value) return std::move(value).error();
      if (const size_t size = dump_json(*value).size(); size > kMaxLogBytes) {
        return Raise{{"millrace.limits.log",
                      fmt::format("what `log` yields is {} bytes of JSON; a record holds {}", size,
                                  kMaxLogBytes)}};
      }
      visit.tell(HistoryKind::kLog, Json{{"value", std::move(*value)}});
    }
    return state().enter(visit);
  }

  void leave(Visit& visit) {
    const Exit& exit = state().common().exits[instance_.exit];
    if (exit.transform) {
      auto data = visit.evaluate(*exit.transform);
      if (!data) return settle(visit, data.error());
      if (const auto raised = visit.set_data(std::move(*data))) return settle(visit, *raised);
    }
    settle_notes(visit);
    go_to(exit.transition);
  }

  /// Does what a visit wants, then what its outcome says.
  void settle(Visit& visit, const Outcome& outcome) {
    // A visit that parks is made again from its beginning, and tells then what it has to tell.
    if (std::holds_alternative<Park>(outcome)) visit.take_history();
    settle_notes(visit);
    if (const auto* out = std::get_if<Leave>(&outcome)) {
      clear_waits();
      instance_.phase = Phase::kLeaving;
      instance_.exit = out->exit;
      ++instance_.step;
    } else if (const auto* raised = std::get_if<Raise>(&outcome)) {
      raise(raised->error);
    } else if (const auto* given_up = std::get_if<GiveUp>(&outcome)) {
      tell_error(HistoryKind::kCancelled, given_up->error);
      note_failure();
      if (!instance_.error) instance_.error = given_up->error;
      end(InstanceStatus::kCancelled);
    } else if (std::holds_alternative<Park>(outcome)) {
      instance_.parked = true;
    } else {
      if (instance_.phase != Phase::kWaiting) ++instance_.step;
      instance_.phase = Phase::kWaiting;
      instance_.status = InstanceStatus::kWaiting;
    }
  }

  void settle_notes(Visit& visit) {
    for (Effect& effect : visit.take_effects()) {
      if (auto* const task = std::get_if<StartTask>(&effect)) task->state = state().common().id;
      if (auto* const asked = std::get_if<Evaluate>(&effect)) {
        asked->evaluation.timeout = task_timeout();
      }
      const auto* const set = std::get_if<SetVariable>(&effect);
      if (set != nullptr && set->value) variable_bytes_ += set->value->bytes.size();
      result_.effects.push_back(std::move(effect));
    }
    for (HistoryRecord& record : visit.take_history()) {
      record.state = state().common().id;
      result_.history.push_back(std::move(record));
    }
  }

  /// Of evaluating one state, where it is not that of all workflows.
  std::optional<Duration> task_timeout() const {
    const OwnPolicy own = read_own_policy(instance_.own_policy);
    const auto& span = own.task ? own.task : workflow_.timeouts.task;
    if (!span) return std::nullopt;
    return span->after(now_) - now_;
  }

  /// Whether the `retries` of the state, and of the workflow, are asked.
  enum class Retries { kNo, kYes };

  /// The state's work is cancelled; its retry policy may have it
  /// entered again, before a `catch` is looked for or because none matches; else the first `catch`
  /// that matches decides.
  void raise(WorkflowError error, Retries retries = Retries::kYes) {
    clear_waits();
    tell_error(HistoryKind::kRaised, error);
    const StateCommon& common = state().common();
    if (error.code == kTaskTimeout) retries = Retries::kNo;
    if (retries == Retries::kYes && common.retries) {
      AfterFailure next =
          after_failure(*common.retries, {.instance = instance_.id,
                                          .state = common.id,
                                          .attempt = instance_.attempt,
                                          .first_at = instance_.state_from,
                                          .now = now_,
                                          .error = error,
                                          .is_caught = find_catch(common, error.code) != nullptr});
      if (const auto* const at = std::get_if<TimePoint>(&next)) return wait_for_retry(*at);
      if (std::get<WorkflowError>(next) != error) {
        error = std::get<WorkflowError>(std::move(next));
        tell_error(HistoryKind::kRaised, error);
      }
    }
    const Catch* const entry = find_catch(common, error.code);
    if (!instance_.error) forget_failure();
    if (entry == nullptr || leads_to_error_state(*entry)) note_failure();
    // The error that the instance ends with stays.
    put_error(entry == nullptr ? instance_.error.value_or(error) : error);
    if (entry == nullptr) return fail(error, InstanceStatus::kFailed, retries);
    tell(HistoryKind::kCaught, LazyJson::object({{"error", entry->error}}));
    go_to(entry->transition);
  }

  /// Should the state's transform fail, the next attempt, by a policy or by hand, finds that.
  void keep_found(const Visit& visit, const LazyJson& data) {
    if (visit.has_changed_data() && instance_.phase == Phase::kLeaving) instance_.found_data = data;
  }

  bool leads_to_error_state(const Catch& entry) const {
    return entry.transition && workflow_.states[*entry.transition]->common().type == "error";
  }

  /// What a manual retry begins with: the state that the failure comes from, and the data that it
  /// found. The first one counts where a failure is settled already.
  void note_failure() { note_failure(instance_.found_data.value_or(instance_.data)); }

  void note_failure(const LazyJson& found) {
    const bool is_settled = instance_.error || instance_.awaits_run;
    if (is_settled && !instance_.failed_state.empty()) return;
    instance_.failed_state = state().common().id;
    instance_.failed_data = found;
    instance_.failed_attempt = instance_.attempt;
    for (const Call& call : instance_.calls) {
      instance_.failed_attempt = std::max(instance_.failed_attempt, call.attempt);
    }
  }

  void forget_failure() {
    instance_.failed_state.clear();
    instance_.failed_data.reset();
    instance_.failed_attempt = 0;
  }

  /// The state is left as if it had never been entered, until the next attempt is due.
  void wait_for_retry(TimePoint at) {
    if (instance_.found_data) instance_.data = *std::exchange(instance_.found_data, std::nullopt);
    tell(HistoryKind::kRetrying,
         Json{{"attempt", instance_.attempt + 1}, {"at", format_rfc3339(at)}});
    wait_until(at);
  }

  void wait_until(TimePoint at) {
    if (at - now_ >= kHopsForgottenAfter) instance_.hops = 0;
    arm(instance_, {TimerKind::kRetry, at});
    instance_.phase = Phase::kWaiting;
    instance_.status = InstanceStatus::kWaiting;
    ++instance_.step;
  }

  void enter_again() {
    ++instance_.attempt;
    ++instance_.step;
    begin_state(instance_, state().common(), now_);
  }

  void put_error(const WorkflowError& error) {
    Json told = {{"code", error.code}, {"msg", error.message}};
    if (instance_.data.value().is_object()) {
      instance_.data.edit()["error"] = std::move(told);
    } else {
      instance_.data = Json{{"error", std::move(told)}, {"data", instance_.data.value()}};
    }
  }

  void fail(const WorkflowError& error, InstanceStatus status = InstanceStatus::kFailed,
            Retries retries = Retries::kYes) {
    if (!instance_.error) instance_.error = error;
    end(status, retries);
  }

  void go_to(std::optional<StateIndex> next) {
    if (!next) {
      return end(instance_.error ? InstanceStatus::kFailed : InstanceStatus::kComplete);
    }
    if (++instance_.transitions > limits_.transitions_per_instance) {
      // Not for `catch`: what caught it would go on for ever.
      const WorkflowError error{"millrace.limits.transitions",
                                fmt::format("the instance made more than {} transitions",
                                            limits_.transitions_per_instance)};
      instance_.state = *next;  // where a manual retry goes on
      instance_.found_data.reset();
      tell_error(HistoryKind::kRaised, error);
      if (!instance_.error) forget_failure();
      note_failure();
      return fail(error);
    }
    instance_.state = *next;
    instance_.retried = false;
    instance_.attempt = 1;
    instance_.found_data.reset();
    instance_.state_from = now_;
    ++instance_.step;
    begin_state(instance_, state().common(), now_);
  }

  /// Document 001: a run that has failed may be followed by another one of the same execution.
  /// Whether it is.
  bool awaits_next_run() {
    if (instance_.failing) return false;
    const OwnPolicy own = read_own_policy(instance_.own_policy);
    const auto& policy = own.retries ? own.retries : workflow_.retries;
    if (!policy) return false;
    AfterFailure next = after_failure(*policy, {.instance = instance_.id,
                                                .state = instance_.failed_state,
                                                .attempt = instance_.run - instance_.first_run + 1,
                                                .first_at = instance_.runs_from,
                                                .now = now_,
                                                .error = *instance_.error});
    if (auto* const error = std::get_if<WorkflowError>(&next)) {
      if (*error != *instance_.error) tell_error(HistoryKind::kRaised, *error);
      instance_.error = std::move(*error);
      return false;
    }
    const TimePoint at = std::get<TimePoint>(next);
    tell(HistoryKind::kRetrying, Json{{"run", instance_.run + 1}, {"at", format_rfc3339(at)}});
    clear_waits();
    const auto ends = [](const Timer& timer) { return timer.kind != TimerKind::kExecution; };
    std::erase_if(instance_.timers, ends);
    std::erase_if(instance_.held_timers, ends);
    instance_.found_data.reset();
    instance_.error.reset();
    instance_.awaits_run = true;
    wait_until(at);
    return true;
  }

  void begin_run() {
    instance_.awaits_run = false;
    ++instance_.run;
    tell(HistoryKind::kRun, Json{{"run", instance_.run}});
    const Result<LazyJson> input = lookup_.input(instance_);
    if (!input) {
      const WorkflowError error{std::string(kStoreDamaged), input.error().message};
      tell_error(HistoryKind::kRaised, error);
      return fail(error, InstanceStatus::kFailed, Retries::kNo);
    }
    instance_.data = *input;
    begin_at(workflow_.start.state);
  }

  void end(InstanceStatus status, Retries retries = Retries::kYes) {
    if (status == InstanceStatus::kFailed) {
      if (retries == Retries::kYes && awaits_next_run()) return;
      if (workflow_.timeouts.on_any_failure && !instance_.failing) {
        return go_through_on_failure(*instance_.error);
      }
    }
    clear_waits();
    instance_.timers.clear();
    instance_.held_timers.clear();
    instance_.paused = false;
    instance_.awaits_run = false;
    instance_.found_data.reset();
    instance_.phase = Phase::kEnded;
    instance_.status = status;
    instance_.ended_at = now_;
    ++instance_.step;
    tell(HistoryKind::kEnded, LazyJson::object({{"status", to_string(status)}}));
    result_.changed = true;
    if (!instance_.caller) return;
    ReturnResult told{.space = instance_.space,
                      .to = *instance_.caller,
                      .result = instance_.data,
                      .sealed = instance_.sealed};
    if (instance_.error) told.result = tl::unexpected(*instance_.error);
    result_.effects.emplace_back(std::move(told));
  }

  void clear_waits() {
    instance_.parked = false;
    instance_.listeners.clear();
    const auto is_states = [](const Timer& timer) { return is_of_state(timer.kind); };
    std::erase_if(instance_.timers, is_states);
    std::erase_if(instance_.held_timers, is_states);
    instance_.slots.clear();
    for (const Call& call : instance_.calls) {
      // A state that calls has no attempts of its own: what an instance shows is its calls'.
      instance_.attempt = std::max(instance_.attempt, call.attempt);
      if (call.status != Call::Status::kRunning) continue;
      result_.effects.push_back(stopping(instance_, call, cancels_at_once_));
    }
    instance_.calls.clear();
  }

  void tell_error(HistoryKind kind, const WorkflowError& error) {
    tell(kind, LazyJson::object({{"code", error.code}, {"msg", error.message}}));
  }

  void tell(HistoryKind kind, LazyJson detail = {}) {
    result_.history.push_back(
        {.time = now_, .kind = kind, .state = state().common().id, .detail = std::move(detail)});
  }

  const Workflow& workflow_;
  Instance& instance_;
  TimePoint now_;
  const Lookup& lookup_;
  const EngineLimits& limits_;
  StepResult result_;
  bool cancels_at_once_ = true;  ///< what its calls do goes down with it
  size_t variable_bytes_ = 0;    ///< to be set by what it has found
};

}  // namespace

Instance make_instance(InstanceId id, NamespaceNumber space, Revision revision,
                       const Workflow& workflow, Json input, TimePoint now, uint64_t position,
                       const Origin& origin) {
  Instance instance{.id = id, .space = space, .revision = revision};
  instance.state = workflow.start.state;
  instance.started_at = now;
  instance.runs_from = now;
  instance.state_from = now;
  instance.execution_from = origin.execution_from.value_or(now);
  instance.own_policy = origin.own_policy;
  instance.listen_from = position;
  instance.input = input.is_object() ? std::move(input) : Json{{"input", std::move(input)}};
  instance.input.text();  // made once, for both
  instance.data = instance.input;
  Stepper::arm_run(instance, workflow, now);
  Stepper::arm_execution(instance, workflow);
  Stepper::begin_state(instance, workflow.states[instance.state]->common(), now);
  return instance;
}

StateIndex failed_state_of(const Workflow& workflow, const Instance& instance) {
  const auto& states = workflow.states;
  const auto found = std::find_if(states.begin(), states.end(), [&](const auto& state) {
    return state->common().id == instance.failed_state;
  });
  // Older builds did not note it where an Error state had fixed the error.
  if (found == states.end()) return instance.state;
  return static_cast<StateIndex>(found - states.begin());
}

std::optional<TimePoint> execution_deadline(const Workflow& workflow, const Instance& instance) {
  const OwnPolicy own = read_own_policy(instance.own_policy);
  const auto& span = own.execution ? own.execution : workflow.timeouts.execution;
  if (!span) return std::nullopt;
  return span->after(instance.execution_from);
}

std::vector<Timer> timers_of_run(const Workflow& workflow, const Instance& instance,
                                 TimePoint began) {
  Instance fresh{.execution_from = instance.execution_from, .own_policy = instance.own_policy};
  Stepper::arm_run(fresh, workflow, began);
  Stepper::arm_execution(fresh, workflow);
  return std::move(fresh.timers);
}

StepResult step(const Workflow& workflow, Instance& instance, const Stimulus& stimulus,
                TimePoint now, const Lookup& lookup, const EngineLimits& limits) {
  return Stepper(workflow, instance, now, lookup, limits).run(stimulus);
}

}  // namespace millrace
