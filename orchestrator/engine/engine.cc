#include "orchestrator/engine/engine.h"

#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "model/hops.h"
#include "states/state.h"
#include "states/visit.h"

namespace millrace {
namespace {

/// SEMANTICS "States", log.
constexpr size_t kMaxLogBytes = size_t{64} << 10;

/// One call of step(): what it works on and what it has found so far.
class Stepper {
 public:
  Stepper(const Workflow& workflow, Instance& instance, TimePoint now, const Lookup& lookup,
          const EngineLimits& limits)
      : workflow_(workflow), instance_(instance), now_(now), lookup_(lookup), limits_(limits) {}

  StepResult run(const Stimulus& stimulus) {
    if (instance_.phase != Phase::kEnded) {
      std::visit([this](const auto& one) { apply(one); }, stimulus);
    }
    return std::move(result_);
  }

  /// The timeout counts from the moment when the state is scheduled, expressions included.
  static void begin_state(Instance& instance, const StateCommon& common, TimePoint now) {
    instance.phase = Phase::kEntering;
    instance.entered = instance.step;
    if (common.timeout) {
      instance.timers.push_back({TimerKind::kStateTimeout, common.timeout->after(now)});
    }
  }

 private:
  Visit visiting(std::span<const EvaluationResult> results) {
    return Visit(instance_, now_, results, lookup_, result_.effects);
  }

  const State& state() const { return *workflow_.states[instance_.state]; }

  // What each stimulus does. One that is stale leaves the instance as it is.

  void apply(const Proceed&) {
    if (instance_.phase == Phase::kWaiting) return;
    proceed({});
  }

  void apply(const Resumed& resumed) {
    if (!instance_.parked || instance_.step != resumed.step) return;
    proceed(resumed.results);
  }

  void apply(const Matched& matched) {
    if (instance_.phase != Phase::kWaiting) return;
    instance_.listen_from = matched.position;
    const Event& event = *matched.event;
    instance_.hops = hops_of(event);
    tell(HistoryKind::kWoken,
         LazyJson::object({{"type", event.type}, {"source", event.source}, {"id", event.id}}));
    const std::optional<LazyJson> found = findable();
    Visit visit = visiting({});
    settle(visit, state().take(visit, event, matched.entries));
    keep_found(found);
    proceed({});
  }

  void apply(const Returned& returned) {
    if (!waits_for(instance_, returned.call)) return;
    instance_.sealed = instance_.sealed || returned.sealed;
    Visit visit = visiting({});
    settle(visit, state().returned(visit, returned.call.index, returned.result));
    proceed({});
  }

  void apply(const Fired& fired) {
    auto& timers = instance_.timers;
    const auto armed = std::find(timers.begin(), timers.end(), Timer{fired.kind, fired.deadline});
    if (armed == timers.end()) return;
    timers.erase(armed);
    fire(fired);
    proceed({});
  }

  void fire(const Fired& fired) {
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
      case TimerKind::kRetry: {
        if (instance_.calls.empty()) return enter_again();
        Visit visit = visiting({});
        return settle(visit, state().retry_calls(visit));
      }
      case TimerKind::kInterrupt:
        return raise(timed_out("interrupt", fired.deadline), Retries::kNo);
      case TimerKind::kKill: {
        const WorkflowError error = timed_out("kill", fired.deadline);
        tell_error(HistoryKind::kRaised, error);
        return fail(error, InstanceStatus::kTimedOut);
      }
    }
  }

  static WorkflowError timed_out(std::string_view which, TimePoint deadline) {
    return {"direktiv.cancels.timeout", fmt::format("the workflow's `timeouts.{}` ran out at {}",
                                                    which, format_rfc3339(deadline))};
  }

  void apply(const Cancel& cancel) {
    tell_error(HistoryKind::kCancelled, cancel.error);
    if (!instance_.error) instance_.error = cancel.error;
    end(InstanceStatus::kCancelled);
  }

  void apply(const Abandon& abandon) {
    tell_error(HistoryKind::kRaised, abandon.error);
    fail(abandon.error);
  }

  /// Runs through states until the instance waits, parks, ends or reaches the bound.
  void proceed(std::span<const EvaluationResult> results) {
    result_.changed = true;
    const uint32_t begin = instance_.transitions;
    do {
      if (instance_.phase != Phase::kEntering && instance_.phase != Phase::kLeaving) return;
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
    const std::optional<LazyJson> found = findable();
    const Outcome outcome = log_and_enter(visit);
    if (!std::holds_alternative<Park>(outcome)) {
      tell(HistoryKind::kEntered);
      if (std::holds_alternative<Wait>(outcome) || visit.has_effects()) {
        result_.history.back().data = data;
      }
    }
    settle(visit, outcome);
    keep_found(found);
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
      const auto* const set = std::get_if<SetVariable>(&effect);
      if (set != nullptr && set->value) variable_bytes_ += set->value->bytes.size();
      result_.effects.push_back(std::move(effect));
    }
    for (HistoryRecord& record : visit.take_history()) {
      record.state = state().common().id;
      result_.history.push_back(std::move(record));
    }
  }

  /// Whether the state's `retries` are asked.
  enum class Retries { kNo, kYes };

  /// SEMANTICS "Errors" 1 and 2: the state's work is cancelled and the first `catch` that matches
  /// decides; where none does, the state's retry policy may have it entered again.
  void raise(WorkflowError error, Retries retries = Retries::kYes) {
    clear_waits();
    tell_error(HistoryKind::kRaised, error);
    const StateCommon& common = state().common();
    const Catch* entry = find_catch(common, error.code);
    if (entry == nullptr && retries == Retries::kYes && common.retries &&
        common.retries->covers(error.code)) {
      if (common.retries->allows_after(instance_.attempt)) return wait_for_retry(*common.retries);
      if (instance_.attempt > 1) {
        error = retries_exceeded(error, instance_.attempt);
        tell_error(HistoryKind::kRaised, error);
        entry = find_catch(common, error.code);
      }
    }
    put_error(error);
    if (entry == nullptr) return fail(error);
    tell(HistoryKind::kCaught, LazyJson::object({{"error", entry->error}}));
    go_to(entry->transition);
  }

  /// The data, where a next attempt may have to find it. Elsewhere no copy is held: as long as one
  /// is, changing the data copies all of it.
  std::optional<LazyJson> findable() const {
    if (!state().common().retries) return std::nullopt;
    return instance_.data;
  }

  /// Should the state's transform fail, the next attempt finds that.
  void keep_found(const std::optional<LazyJson>& data) {
    if (data && instance_.phase == Phase::kLeaving) instance_.found_data = data;
  }

  /// The state is left as if it had never been entered, until the next attempt is due.
  void wait_for_retry(const RetryPolicy& policy) {
    if (instance_.found_data) instance_.data = *std::exchange(instance_.found_data, std::nullopt);
    const TimePoint at = policy.next_at(instance_.attempt, now_);
    tell(HistoryKind::kRetrying,
         Json{{"attempt", instance_.attempt + 1}, {"at", format_rfc3339(at)}});
    instance_.timers.push_back({TimerKind::kRetry, at});
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

  void fail(const WorkflowError& error, InstanceStatus status = InstanceStatus::kFailed) {
    instance_.failed_state = state().common().id;
    if (!instance_.error) instance_.error = error;
    end(status);
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
      tell_error(HistoryKind::kRaised, error);
      return fail(error);
    }
    instance_.state = *next;
    instance_.attempt = 1;
    instance_.found_data.reset();
    ++instance_.step;
    begin_state(instance_, state().common(), now_);
  }

  void end(InstanceStatus status) {
    clear_waits();
    instance_.timers.clear();
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
    std::erase_if(instance_.timers, [](const Timer& timer) { return is_of_state(timer.kind); });
    instance_.slots.clear();
    for (const Call& call : instance_.calls) {
      if (call.status != Call::Status::kRunning) continue;
      result_.effects.emplace_back(CancelChild{instance_.space, call.child});
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
  size_t variable_bytes_ = 0;  ///< to be set by what it has found
};

}  // namespace

Instance make_instance(InstanceId id, NamespaceNumber space, Revision revision,
                       const Workflow& workflow, Json input, TimePoint now, uint64_t position) {
  Instance instance{.id = id, .space = space, .revision = revision};
  instance.state = workflow.start.state;
  instance.started_at = now;
  instance.listen_from = position;
  instance.input = input.is_object() ? std::move(input) : Json{{"input", std::move(input)}};
  instance.input.text();  // made once, for both
  instance.data = instance.input;
  const auto arm = [&](TimerKind kind, const std::optional<Span>& span) {
    if (span) instance.timers.push_back({kind, span->after(now)});
  };
  arm(TimerKind::kInterrupt, workflow.timeouts.interrupt);
  arm(TimerKind::kKill, workflow.timeouts.kill);
  Stepper::begin_state(instance, workflow.states[instance.state]->common(), now);
  return instance;
}

StepResult step(const Workflow& workflow, Instance& instance, const Stimulus& stimulus,
                TimePoint now, const Lookup& lookup, const EngineLimits& limits) {
  return Stepper(workflow, instance, now, lookup, limits).run(stimulus);
}

}  // namespace millrace
