// Events, commands, and changes of the process and the broker.
#include <algorithm>
#include <utility>

#include "tests/model/control_model.h"

namespace millrace::reference {

std::vector<TaskView> Model::tasks() {
  std::vector<TaskView> all;
  if (phase_ != Phase::kLive) return all;
  for (const Call& c : calls_)
    if (c.at == At::kOffered || c.at == At::kTaken)
      all.push_back({std::to_string(c.serial), run_, undoing_ ? notes_.back().state : state_,
                     c.index, c.attempt, c.at == At::kTaken, c.input, c.accepted, c.progress,
                     c.last_progress});
  return all;
}

bool Model::waits_for_event() const {
  return phase_ == Phase::kLive && !undoing_ && !pending_ && current().kind == Kind::kWait &&
         state_retry_at_.low < 0 && !held_event_;
}

// Whether events are kept for a later wait of the instance.
bool Model::may_come_to_wait() const {
  return phase_ == Phase::kLive && !undoing_ && (pending_ || held_event_ || !calls_.empty());
}

bool Model::may_wait() const {
  return std::any_of(definition_.states.begin(), definition_.states.end(),
                     [](const State& s) { return s.kind == Kind::kWait; });
}

// An event without a wait is dropped, unless the instance may come to wait for it.
void Model::send_event(const std::string& type, const Json& payload) {
  if (type != kEventType) return;
  if (!waits_for_event()) {
    if (may_come_to_wait()) {
      kept_events_.push_back(payload);
    } else {
      passed_event_ = true;
    }
    return;
  }
  if (paused())
    held_event_ = payload;  // accepted, and applied on resume
  else
    succeed_wait(payload);
  run_until_idle();
}

// A task that a worker has may finish, and then the instance is cancelled. The documents leave open
// whether a deadline of the task or of the execution ends the instance before that.
std::string Model::status_after_cancel() const {
  const auto has_passed = [this](std::optional<Ms> at) { return at && *at <= now_; };
  bool open = has_passed(execution_deadline_) || has_passed(run_deadline_) ||
              has_passed(kill_at_) || has_passed(run_limits_doubt_);
  bool taken = false;
  for (const Call& c : calls_) {
    taken |= c.at == At::kTaken;
    for (const auto& [limit, at] : c.deadlines) open |= at <= now_;
    open |= has_passed(c.doubt);
  }
  return std::string(taken && !open ? "" : "cancelled|") + "running|waiting|pending";
}

bool Model::running_after_cancel() const { return phase_ == Phase::kEnded && !calls_.empty(); }

std::optional<Reply> Model::would(Verb verb, const std::string& state) const {
  const bool live = phase_ != Phase::kEnded;
  const bool temporary =
      running_after_cancel() || (!held_answers_.empty() && verb != Verb::kResume);
  // The documents leave the effect of a resume after two pauses open.
  if (verb == Verb::kPauseWorkflow) {
    return paused_ || workflow_paused_ ? std::nullopt : std::optional(Reply::kAccepted);
  }
  if (verb == Verb::kResumeWorkflow && workflow_paused_) return Reply::kAccepted;
  if (temporary) return std::nullopt;
  const auto past = [this](std::optional<Ms> at) { return at && *at <= now_; };
  switch (verb) {
    case Verb::kCancel:
      return would_cancel();
    case Verb::kPause:
      if (!live) return Reply::kConflict;
      return paused_ || workflow_paused_ ? std::nullopt : std::optional(Reply::kAccepted);
    case Verb::kResume:
      return paused_ ? std::optional(Reply::kAccepted) : std::nullopt;
    case Verb::kRetry:
    case Verb::kRetryExtend: {
      const bool again = !live && (status_.find("failed") != std::string::npos ||
                                   status_.find("timedout") != std::string::npos);
      if (!again) return Reply::kConflict;
      if (past(execution_deadline_) && verb == Verb::kRetry) return Reply::kConflict;
      if (verb == Verb::kRetryExtend && execution_deadline_ && !past(execution_deadline_))
        return std::nullopt;
      if (past(run_deadline_) || past(kill_at_) || past(interrupt_at_)) return std::nullopt;
      if (past(run_limits_doubt_)) return std::nullopt;
      if (failed_state_.find('|') != std::string::npos) return std::nullopt;
      if (failed_state_ == definition_.on_failure) return std::nullopt;
      return Reply::kAccepted;
    }
    case Verb::kRestart:
      return live ? std::nullopt : std::optional(Reply::kAccepted);
    case Verb::kRerun: {
      const State* s = definition_.find(state);
      const bool keeps =
          s && (s->kind == Kind::kAction || s->kind == Kind::kParallel ||
                s->kind == Kind::kForeach || s->kind == Kind::kWait || s->kind == Kind::kDelay);
      if (live || !keeps) return std::nullopt;
      for (const Action& a : s->actions) {
        const auto policy = policy_of(definition_, *s, a);
        if (policy && policy->attempts == 0)
          return std::nullopt;  // the documents leave open whether a skipped action counts as a
                                // call
      }
      // The data of states without a wait or a call need not be kept.
      if (last_entry_.count(state) && !acted_.at(state)) return std::nullopt;
      return last_entry_.count(state) ? Reply::kAccepted : Reply::kConflict;
    }
    case Verb::kCompensate:
    case Verb::kCompensatePast:
      return would_compensate(verb == Verb::kCompensatePast);
    default:
      return std::nullopt;
  }
}

Reply Model::command(Verb verb, const std::string& state) {
  const auto reply = would(verb, state);
  if (!reply) {
    doubt("the effect of this command");
    return Reply::kOther;
  }
  if (*reply != Reply::kAccepted) return *reply;
  passed_event_ = false;
  const bool was_paused = paused();
  switch (verb) {
    case Verb::kCancel:
      cancel();
      break;
    case Verb::kCompensate:
    case Verb::kCompensatePast:
      compensate(verb == Verb::kCompensatePast);
      break;
    case Verb::kPause:
      paused_ = true;
      break;
    case Verb::kResume:
      paused_ = false;
      break;
    case Verb::kPauseWorkflow:
      workflow_paused_ = true;
      break;
    case Verb::kResumeWorkflow:
      workflow_paused_ = false;
      break;
    case Verb::kRetry:
      retry(false);
      break;
    case Verb::kRetryExtend:
      retry(true);
      break;
    case Verb::kRestart:
    case Verb::kRerun: {
      if (!has(Fault::kRunsStayUsedUp)) runs_of_policy_ = 1;
      if (execution_deadline_ && !has(Fault::kRestartKeepsDeadline))
        execution_deadline_ = now_ + *execution_time();
      if (verb == Verb::kRestart && !has(Fault::kRestartKeepsNotes)) notes_.clear();
      Json data = verb == Verb::kRestart ? input_ : last_entry_.at(state);
      if (verb == Verb::kRerun && has(Fault::kRerunWithLastData)) data = data_;
      begin_run(verb == Verb::kRestart ? definition_.states.front().id : state, data);
      rerun_ = verb == Verb::kRerun;
      break;
    }
  }
  if (was_paused && !paused() && phase_ == Phase::kLive) resume_current();
  run_until_idle();
  return Reply::kAccepted;
}

// Runs the held actions, and restarts the deadlines of the current state and its calls. The
// deadlines of the execution continue.
void Model::resume_current() {
  if (std::exchange(undoing_waits_, false)) return undo_next();
  if (pending_) {
    const std::string id = *pending_;
    const Json data = pending_data_;
    return enter(id, data, pending_by_retry_);
  }
  if (held_event_) {
    const Json payload = *held_event_;
    return succeed_wait(payload);
  }
  const auto answers = std::exchange(held_answers_, {});
  for (const auto& [call, outcome, at] : answers)
    for (Call& c : calls_)
      if (c.serial == call && c.at == At::kAnswered) {
        held_at_ = at;
        apply(c, outcome);
        break;
      }
  held_at_.reset();
  if (has(Fault::kResumeRenewsExecution) && execution_deadline_)
    execution_deadline_ = now_ + *execution_time();
  if (phase_ != Phase::kLive || has(Fault::kResumeKeepsDeadlines)) return;
  if (state_deadline_ && has(Fault::kResumeMovesUntil)) state_span_ = current().timeout;
  if (state_deadline_ && state_span_) state_deadline_ = now_ + *state_span_;
  for (Call& c : calls_) {
    if (c.at == At::kDone || c.at == At::kFailed) continue;
    const Bounds b = bounds_of(definition_, *c.action);
    for (auto& [limit, at] : c.deadlines)
      if (!(has(Fault::kResumeForgetsHeartbeat) && limit == Limit::kHeartbeat))
        at = now_ + b.at(limit).time;
    if (has(Fault::kResumeForgetsHeartbeat)) c.deadlines.erase(Limit::kHeartbeat);
    if (c.doubt) c.doubt = now_ + b.at(Limit::kScheduleToClose).time;
  }
}

// The documents leave open whether the run timeout, interrupt and kill continue or restart when a
// manual retry continues the run. Until the earlier of both times the result is the same.
void Model::doubt_run_limits() {
  const auto note = [this](std::optional<Ms>& going_on, std::optional<Ms> time) {
    const std::optional<Ms> anew = time ? std::optional<Ms>(now_ + *time) : std::nullopt;
    for (const auto& at : {going_on, anew})
      if (at) run_limits_doubt_ = std::min(run_limits_doubt_.value_or(*at), *at);
    going_on.reset();
  };
  note(run_deadline_, definition_.run);
  note(kill_at_, definition_.kill);
  note(interrupt_at_, definition_.interrupt);
}

// Enters the failed state again with the data of its last entry. All counts of attempts restart.
void Model::retry(bool extend) {
  const std::string id = has(Fault::kRetryBeginsLastState) ? state_ : failed_state_;
  Json data = last_entry_.at(id);
  if (has(Fault::kRetryWithFirstData)) data = first_entry_.at(id);
  if (has(Fault::kRetryKeepsError) && data_.contains("error")) data["error"] = data_["error"];
  if (extend && execution_deadline_) execution_deadline_ = now_ + *execution_time();
  if (!has(Fault::kRunsStayUsedUp)) runs_of_policy_ = 1;
  if (has(Fault::kRetryDropsNotes)) notes_.clear();
  undo_failed_ = false;
  doubt_run_limits();
  phase_ = Phase::kLive;
  in_on_failure_ = false;
  const auto not_before = [&](const std::string& other) {
    return entry_number_[other] >= entry_number_[id];
  };
  error_before_retry_ |= error_state_ && !not_before(error_state_id_);
  error_state_.reset();
  error_state_id_ = code_ = message_ = failed_state_ = "";
  enter(id, data, true);
  if (has(Fault::kRetryKeepsAttempts))
    for (Call& c : calls_) c.attempt++;
}

void Model::kill() { dead_ = true; }

void Model::start_process() {
  dead_ = false;
  for (Call& c : calls_) {
    if (phase_ != Phase::kLive) break;
    // Heartbeats of a worker did not reach the dead process, so the worker's heartbeat timeout
    // restarts.
    const auto silence = c.deadlines.find(Limit::kHeartbeat);
    if (silence != c.deadlines.end())
      silence->second = now_ + bounds_of(definition_, *c.action)[Limit::kHeartbeat].time;
    const bool passed = std::any_of(c.deadlines.begin(), c.deadlines.end(),
                                    [this](const auto& d) { return d.second <= now_; });
    if (passed) count("deadline of an action that passed while the process was dead");
    if (has(Fault::kDeadCallMadeAgain) && passed && c.at == At::kTaken && !paused()) {
      c.deadlines.clear();
      offer(c);
    }
    if (has(Fault::kStartBeginsWaitAnew) && c.at == At::kResting) {
      const Ms shift = now_ - c.rests_since;
      c.retry_at.low += shift, c.retry_at.high += shift;
    }
  }
  entries_at_start_ = entries_;
  run_until_idle();
  read_stream_again();
}

// The documents do not define from where a new process reads the stream. While the broker is away,
// it does not read.
void Model::read_stream_again() {
  if (away_ || !entries_at_start_) return;
  if (passed_event_ && entries_ != *entries_at_start_ && may_wait())
    doubt("whether an event without a wait is read again for a wait that starts now");
  entries_at_start_.reset();
}

void Model::broker_away() { away_ = true; }

void Model::broker_back() {
  away_ = false;
  read_stream_again();
  run_until_idle();
}

}  // namespace millrace::reference
