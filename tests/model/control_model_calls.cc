// The calls of a state, and how calls, the state, the run and the instance fail and end.
#include <algorithm>
#include <utility>

#include "tests/model/control_model.h"
#include "tests/model/written_time.h"

namespace millrace::reference {

void Model::offer(Call& c) {
  const Bounds b = bounds_of(definition_, *c.action);
  const bool first = c.first < 0;
  if (!first) c.serial = ++serial_;
  c.attempt++;
  offered_++;
  c.at = At::kOffered;
  c.accepted = false;
  if (!has(Fault::kProgressIsLost)) c.last_progress = c.progress;
  c.retry_at = {};
  if (first) c.first = now_;
  for (const auto& [limit, bound] : b) {
    if (limit == Limit::kScheduleToStart) c.deadlines[limit] = now_ + bound.time;
    if (limit != Limit::kScheduleToClose) continue;
    if (per_attempt_)
      // The timeout counts for each attempt, from the time at which a worker takes the task.
      c.doubt = now_ + bound.time;
    else if (first || has(Fault::kDeadlineIsRenewed))
      c.deadlines[limit] = now_ + bound.time;
  }
}

void Model::take(const std::string& handle) {
  for (Call& c : calls_) {
    if (std::to_string(c.serial) != handle || c.at != At::kOffered || phase_ != Phase::kLive)
      continue;
    begin_attempt(c);
  }
  run_until_idle();
}

// The timeouts of an attempt count from the time at which a worker takes its task, or its service
// accepts it.
void Model::begin_attempt(Call& c) {
  c.at = At::kTaken;
  c.deadlines.erase(Limit::kScheduleToStart);
  for (const auto& [limit, bound] : bounds_of(definition_, *c.action)) {
    if (limit == Limit::kStartToClose || limit == Limit::kHeartbeat)
      c.deadlines[limit] = now_ + bound.time;
    if (limit == Limit::kScheduleToClose && per_attempt_) {
      if (c.doubt == now_ + bound.time)
        c.doubt.reset();  // the task was handed out and taken at the same time
      c.deadlines[limit] = now_ + bound.time;
    }
  }
}

void Model::heartbeat(const std::string& handle) {
  for (Call& c : calls_)
    if (std::to_string(c.serial) == handle && c.at == At::kTaken &&
        c.deadlines.count(Limit::kHeartbeat))
      c.deadlines[Limit::kHeartbeat] =
          now_ + bounds_of(definition_, *c.action)[Limit::kHeartbeat].time;
}

void Model::expire(Call& c, Limit limit) {
  Bound bound = bounds_of(definition_, *c.action)[limit];
  count(std::string(bound.key) + (bound.cancels ? " that cancels" : "") + " expires");
  if (has(Fault::kFinalTimeoutIsRetried)) bound.error.final = false;
  if (!bound.cancels) return call_failed(c, bound.error);
  if (undoing_) doubt("maxInactivity, maxRuntime or deadline cancels a compensation");
  if (in_on_failure_) doubt("maxInactivity, maxRuntime or deadline cancels in on_failure");
  end("cancelled", "");
}

// All due actions come before this, so the answer of an open call is in time.
void Model::answer(const std::string& handle, const Outcome& outcome) {
  for (Call& c : calls_) {
    const bool earlier = c.attempt > 1 && std::to_string(c.serial) != handle &&
                         phase_ == Phase::kLive && std::stoi(handle) < c.serial;
    const bool stale =
        std::to_string(c.serial) == handle && c.at == At::kResting && phase_ == Phase::kLive;
    const bool counts = (has(Fault::kLateAnswerCounts) && c.error.timeout) ||
                        (has(Fault::kDoubleAnswerCounts) && !c.error.timeout);
    if (counts && (earlier || stale) && !paused()) {  // a fault
      apply(c, outcome);
      return run_until_idle();
    }
    if (std::to_string(c.serial) != handle || c.at != At::kTaken) continue;
    if (phase_ == Phase::kEnded) return answer_after_cancel(c.serial, outcome);
    if (paused()) {
      c.at = At::kAnswered;
      held_answers_.push_back({c.serial, outcome, now_});
      return;
    }
    apply(c, outcome);
    break;
  }
  run_until_idle();
}

// After a cancel, results go only to the history, and to the compensations of the work.
void Model::answer_after_cancel(int serial, const Outcome& outcome) {
  std::erase_if(calls_, [&](const Call& c) { return c.serial == serial; });
  if (outcome.ok && current().undo && !has(Fault::kCancelForgetsWork)) {
    count("compensation noted after a cancel");
    Json data = notes_each_call() ? Json::object() : data_;
    data["return"] = outcome.result;
    notes_.push_back({state_, data});
  }
  if (!calls_.empty() || !std::exchange(is_cancelling_, false)) return;
  const Demand demanded = demand("cancelled");
  if (demanded == Demand::kOpen) doubt("whether this cancel makes compensations");
  if (demanded != Demand::kYes) return;
  if (paused()) doubt("whether the pause of a workflow holds an instance that is cancelled");
  begin_undoing({status_, code_, message_, run_known_, data_known_});
  run_until_idle();
}

void Model::apply(Call& c, const Outcome& outcome) {
  if (!outcome.ok) return call_failed(c, {outcome.code, outcome.message, false, false});
  c.at = At::kDone;
  c.deadlines.clear();
  c.doubt.reset();
  c.progress.reset();
  c.result = outcome.result;
  if (undoing_) return undone();
  if (notes_each_call()) notes_.push_back({state_, {{"return", c.result}}});
  const auto done = [](const Call& x) { return x.at == At::kDone; };
  if (current().any || std::all_of(calls_.begin(), calls_.end(), done)) leave();
}

void Model::call_failed(Call& c, const Error& error) {
  c.error = error;
  auto policy = policy_of_call(c);
  // In mode `or` a failed call does not fail the state. A `catch` is not about compensations.
  const bool is_caught = !undoing_ && !current().any && caught(error.code);
  if (!policy || !retries(*policy, error, is_caught) ||
      (has(Fault::kCatchBeforePolicy) && is_caught))
    return branch_failed(c, error);

  // After the last attempt no delay is evaluated.
  if (policy->attempts == kUnlimited || c.attempt < policy->attempts) {
    policy = with_delay(*policy, data_, error);
    if (!policy) return branch_failed(c, {"millrace.duration.invalid", "", false, false});
  }
  const Interval wait = wait_after(*policy, c.attempt);
  const bool ten_years = policy->attempts == kUnlimited &&
                         policy->vocabulary == Vocabulary::kTemporal &&
                         now_ + wait.low >= c.first + kTenYears;
  if ((policy->attempts != kUnlimited && c.attempt >= policy->attempts) || ten_years) {
    count(std::string("attempts used up by ") + name_of(policy->vocabulary));
    return branch_failed(c, used_up(*policy, error, state_, c.attempt));
  }

  if (held_at_ && *held_at_ != now_ && wait.high > 0) doubt("the wait after a held answer");
  count(std::string("attempt after a failure by ") + name_of(policy->vocabulary));
  c.at = At::kResting;
  c.retry_at = moment(wait);
  c.rests_since = now_;
  c.doubt.reset();
  std::erase_if(c.deadlines, [this](const auto& d) {
    return d.first != Limit::kScheduleToClose || per_attempt_;
  });
}

void Model::branch_failed(Call& c, const Error& error) {
  c.at = At::kFailed;
  c.error = error;
  c.deadlines.clear();
  c.doubt.reset();
  if (undoing_) return undoing_failed();
  if (!current().any) return raise(error);
  if (std::any_of(calls_.begin(), calls_.end(),
                  [](const Call& x) { return x.at != At::kFailed && !x.skipped; }))
    return;
  raise({"direktiv.parallel.allFailed", "", false, false});
}

// Failures and ends.

bool Model::caught(const std::string& code) const {
  const auto& catches = current().catches;
  return std::any_of(catches.begin(), catches.end(),
                     [&](const Catch& c) { return glob_matches(c.pattern, code); });
}

void Model::state_failed(Error error) {
  const State& s = current();
  if (s.kind == Kind::kWait && s.retry) {
    const Policy policy = read_policy(*s.retry);
    const bool fault =
        has(Fault::kZartRetriesWaitTimeout) && policy.vocabulary == Vocabulary::kZart;
    if (retries(policy, error, caught(error.code)) || fault) {
      if (policy.attempts == kUnlimited || state_attempt_ < policy.attempts) {
        const auto evaluated = with_delay(policy, data_, error);
        if (!evaluated) return raise({"millrace.duration.invalid", "", false, false});
        count(std::string("attempt of a wait by ") + name_of(policy.vocabulary));
        state_retry_at_ = moment(wait_after(*evaluated, state_attempt_));
        return;
      }
      error = used_up(policy, error, state_, state_attempt_);
    }
  }
  raise(error);
}

void Model::raise(const Error& error) {
  // Further members of `.error` are not compared. If no `catch` matches this error, `.error` may be
  // the error with which the instance ends after an error state or the deadline of the execution.
  data_["error"] = {{"code", error.code}};
  const bool open = (error_state_ || in_on_failure_) && !caught(error.code);
  if (open) data_["error"] = {{"$any", true}};
  for (const Catch& c : current().catches) {
    if (!glob_matches(c.pattern, error.code)) continue;
    count("catch");
    if (has(Fault::kFailedStateIsNoted)) note();
    // A failure of the states that clean up after an error state is not a failure of the run.
    const State* const next = c.to.empty() ? nullptr : definition_.find(c.to);
    if (!error_state_ && next && next->kind == Kind::kError) caught_before_error_ = state_;
    go(c.to);
    caught_before_error_.clear();
    return;
  }
  run_failed(error);
}

// The error of the first error state is that of the run, even if a later state fails.
void Model::run_failed(const Error& raised) {
  if (in_on_failure_) return end("failed", first_code("millrace.timeout.execution"));
  const bool interrupt = raised.code == "direktiv.cancels.timeout";
  Error error = error_state_ ? *error_state_ : raised;
  if (!error_state_) failed_state_ = state_;
  std::string status = raised.status;
  if (definition_.retry && (!interrupt || has(Fault::kInterruptIsRetried))) {
    const Policy policy = read_policy(*definition_.retry);
    Error asked = error;
    asked.final = false;  // `final` is about the policy of an action
    if (retries(policy, asked, false)) {
      if (policy.attempts == kUnlimited || runs_of_policy_ < policy.attempts) {
        if (rerun_) doubt("the run after a rerun");
        if (held_at_ && *held_at_ != now_) doubt("the wait after a held answer");
        const Interval next = moment(wait_after(policy, runs_of_policy_));
        if (execution_deadline_ && next.high >= *execution_deadline_)
          doubt("the next run would come after the execution's deadline");
        count(std::string("next run by ") + name_of(policy.vocabulary));
        return await_run(next);
      }
      count(std::string("runs used up by ") + name_of(policy.vocabulary));
      const Error last =
          std::exchange(error, used_up(policy, error, failed_state_, runs_of_policy_));
      if (policy.vocabulary == Vocabulary::kStevora)
        error.message = last.message;  // the documents do not say of which state
    }
  }
  end(status, error.code, error_state_ ? "" : error.message);
}

std::string Model::first_code(const std::string& code) const {
  return error_state_ ? error_state_->code : code;
}

void Model::await_run(Interval at) {
  calls_.clear();
  state_deadline_.reset(), wake_at_.reset();
  phase_ = Phase::kBetweenRuns;
  next_run_at_ = at;
}

// Ends the instance at a deadline of the execution. After an error state, the documents leave open
// whether the error and the failed state stay.
void Model::run_out(const std::string& status, std::string code) {
  const bool settled = phase_ == Phase::kBetweenRuns || in_on_failure_;
  if (!settled && !error_state_) failed_state_ = state_;
  if (!settled && error_state_ && !one_of(state_, failed_state_)) failed_state_ += "|" + state_;
  if (error_state_ && code != "?" && error_state_->code != code) code += "|" + error_state_->code;
  end(status, code);
}

void Model::execution_expired() {
  if (!definition_.timeout) return run_out("timedout", "millrace.timeout.execution");
  if (definition_.on_failure.empty()) return run_out("failed", "millrace.timeout.execution");
  if (phase_ == Phase::kBetweenRuns) return doubt("on_failure between two runs");
  if (paused()) return doubt("on_failure while paused");
  if (on_failure_done_) return doubt("on_failure a second time");
  in_on_failure_ = on_failure_done_ = true;
  if (!error_state_) failed_state_ = state_;
  Json data = data_;
  data["error"] = {{"code", "millrace.timeout.execution"}};
  enter(definition_.on_failure, data);
}

}  // namespace millrace::reference
