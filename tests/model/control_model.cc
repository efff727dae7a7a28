#include "tests/model/control_model.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "tests/model/written_time.h"

namespace millrace::reference {

namespace {

constexpr int kRankOfDelay = 10;

// Whether the value at a path such as .go.again counts as true in a condition.
bool is_true(Json value, const std::string& at) {
  std::string path = at.substr(1) + ".";
  while (!path.empty()) {
    const std::string name = path.substr(0, path.find('.'));
    path = path.substr(name.size() + 1);
    value = value.is_object() && value.contains(name) ? value[name] : Json();
  }
  return !(value.is_null() || value == false || value == 0 || value == "" ||
           (value.is_structured() && value.empty()));
}

}  // namespace

// Time.

// All timed actions with their times. `held_back_too`: also those that a pause or the broker holds.
std::vector<Model::Due> Model::dues(bool held_back_too) {
  std::vector<Due> all;
  const auto add = [&all](std::optional<Ms> at, int rank, const char* what,
                          std::function<void()> fire) {
    if (at && *at >= 0) all.push_back({*at, rank, what, std::move(fire)});
  };
  if (is_cancelling_) {
    const auto open = [this] { doubt("whether a deadline ends a task after a cancel"); };
    for (const auto& at : {execution_deadline_, run_deadline_, kill_at_, run_limits_doubt_}) {
      add(at, 0, "", open);
    }
    for (const Call& call : calls_) {
      add(call.doubt, 0, "", open);
      for (const auto& [limit, at] : call.deadlines) add(at, 0, "", open);
    }
  }
  if (phase_ == Phase::kEnded) return all;

  // An unreachable broker may hold an event that came before the timers below.
  const bool held_by_broker =
      away_ && !held_back_too && waits_for_event() && !has(Fault::kWaitTimesOutWhileAway);
  if (held_by_broker) return all;

  // The deadlines of the execution and the run. A pause does not hold these. They do not bound
  // compensations.
  const bool is_bounded = !undoing_ || has(Fault::kDeadlineEndsUndoing);
  if (is_bounded)
    add(run_limits_doubt_, 0, "",
        [this] { doubt("whether the limits of the run restart after a manual retry"); });
  if (is_bounded && !in_on_failure_)
    add(execution_deadline_, 0, "execution timeout", [this] { execution_expired(); });
  if (phase_ == Phase::kLive && is_bounded) {
    if (!in_on_failure_)
      add(run_deadline_, 1, "run timeout", [this] { run_out("timedout", "millrace.timeout.run"); });
    add(kill_at_, 2, "kill",
        [this] { run_out(in_on_failure_ ? "timedout|failed" : "timedout", "?"); });
    if (!in_on_failure_)
      add(interrupt_at_, 3, "interrupt", [this] {
        if (paused()) doubt("an interrupt falls due while paused");
        interrupt_at_ = has(Fault::kInterruptTwice) ? std::optional<Ms>(now_ + 5000) : std::nullopt;
        raise({"direktiv.cancels.timeout", "", true, true});
      });
  }

  // The deadlines of the current state and its calls.
  if (paused() && !held_back_too && !has(Fault::kPauseHoldsNothing)) return all;
  if (phase_ == Phase::kBetweenRuns) {
    add(next_run_at_.low, 9, "next run", [this] {
      if (next_run_at_.low != next_run_at_.high)
        doubt("the subject does not show when the next run starts");
      runs_of_policy_++;
      begin_run(definition_.states.front().id, input_);
    });
    return all;
  }
  if (pending_) return all;
  add(state_deadline_, 4, "state timeout", [this] {
    state_deadline_.reset();
    state_failed({"direktiv.stateTimeout", "", true, current().kind != Kind::kWait});
  });
  add(wake_at_, kRankOfDelay, "end of a delay", [this] {
    wake_at_.reset();
    leave();
  });
  add(state_retry_at_.low, 9, "next attempt of a wait",
      [this] { enter(state_, data_, false, state_attempt_ + 1); });
  for (Call& call : calls_) {
    const int serial = call.serial;
    const auto still = [this, serial]() -> Call& {
      return *std::find_if(calls_.begin(), calls_.end(),
                           [&](const Call& c) { return c.serial == serial; });
    };
    if (call.at == At::kDone || call.at == At::kFailed) continue;
    for (const auto& [limit, at] : call.deadlines)
      add(at, 5 + static_cast<int>(limit), "",
          [this, still, limit = limit] { expire(still(), limit); });
    if (call.doubt)
      add(call.doubt, 5, "",
          [this] { doubt("per attempt: from handing out or from taking the task"); });
    if (call.at == At::kResting)
      add(call.retry_at.low, 9, "next attempt of an action", [this, still] {
        if (still().retry_at.low != still().retry_at.high)
          doubt("the subject does not show nextRetryAt");
        offer(still());
      });
  }
  return all;
}

// Runs all due actions one after the other. A due deadline comes before everything that starts
// something new.
void Model::run_until_idle() {
  for (int things = 0; !dead_ && undecided_.empty(); things++) {
    if (things > 1000) doubt("the actions of one time do not end");
    std::vector<Due> due = dues(false);
    std::erase_if(due, [this](const Due& d) { return d.at > now_; });
    if (due.empty()) return;
    const auto deadline = [](const Due& d) { return d.rank < 9; };
    std::stable_sort(due.begin(), due.end(), [&](const Due& a, const Due& b) {
      if (deadline(a) != deadline(b)) return deadline(a);
      return a.at != b.at ? a.at < b.at : a.rank < b.rank;
    });
    for (const Due& other : due) {
      if (!deadline(due[0]) || other.rank == due[0].rank) continue;
      if (due[0].rank == 0) continue;  // the deadline of the execution is first
      if (due[0].rank == 1 && !deadline(other)) continue;
      if (due[0].rank == 2 && !deadline(other)) continue;
      // An attempt that is due after a deadline does not start.
      if (due[0].rank >= 4 && !deadline(other)) continue;
      doubt("several things are due at " + std::to_string(now_) + " ms and their order is open");
    }
    if (phase_ == Phase::kLive && deadline(due[0]) && !held_answers_.empty())
      doubt("a deadline passes while an answer is held");
    for (const Due& other : due)
      if (deadline(due[0]) && other.rank == kRankOfDelay && other.at < due[0].at)
        doubt("a deadline passed after the end of a delay while the process was dead");
    if (deadline(due[0]) && away_ && pending_ && current().kind == Kind::kWait)
      doubt("whether a wait that a pause holds waits for the broker");
    if (!undecided_.empty()) return;
    if (!may_come_to_wait()) kept_events_.clear();
    count(due[0].what);
    due[0].fire();
  }
}

void Model::advance_to(Ms to) {
  while (const auto next = next_due()) {
    if (*next > to) break;
    now_ = std::max(now_, *next);
    run_until_idle();
    if (!undecided_.empty()) break;
  }
  now_ = to;
}

std::optional<Ms> Model::next_due() {
  std::optional<Ms> next;
  if (dead_) return next;
  for (const Due& d : dues(false))
    if (!next || d.at < *next) next = d.at;
  return next;
}

std::vector<Ms> Model::moments() {
  std::set<Ms> at;
  for (const Due& d : dues(true)) at.insert(d.at);
  return {at.begin(), at.end()};
}

Interval Model::moment(Interval wait) const {
  if (seed_ == 0) return {now_ + wait.low, now_ + wait.high};
  const auto hash = std::hash<std::string>{}(std::to_string(seed_) + "/" + std::to_string(now_));
  const Ms drawn =
      now_ + wait.low + static_cast<Ms>(hash % static_cast<size_t>(wait.high - wait.low + 1));
  return {drawn, drawn};
}

// Runs and states.

void Model::begin(const Definition& definition, const std::string&, const Json& input) {
  *this = Model(faults_, seed_);
  definition_ = definition;
  input_ = input;
  runs_of_policy_ = 1;
  if (const auto time = execution_time()) execution_deadline_ = now_ + *time;
  begin_run(definition_.states.front().id, input_);
  run_until_idle();
}

std::optional<Ms> Model::execution_time() const {
  return definition_.timeout ? definition_.timeout : definition_.execution;
}

void Model::set_run_deadlines() {
  const auto after = [this](std::optional<Ms> time) {
    return time ? std::optional<Ms>(now_ + *time) : std::nullopt;
  };
  // By default the deadline of the execution, which comes first.
  run_deadline_ = after(definition_.run);
  kill_at_ = after(definition_.kill);
  interrupt_at_ = after(definition_.interrupt);
  run_limits_doubt_.reset();
}

void Model::begin_run(const std::string& state, const Json& data) {
  phase_ = Phase::kLive;
  run_++;
  set_run_deadlines();
  code_ = message_ = failed_state_ = error_state_id_ = "";
  error_state_.reset();
  in_on_failure_ = on_failure_done_ = rerun_ = error_before_retry_ = false;
  undo_failed_ = false;
  if (!has(Fault::kPerAttemptStays)) per_attempt_ = false;
  enter(state, data);
}

// Sets the end of the wait in the current state. A wait for events whose `until` is past lasts for
// a millisecond, in which it takes the events that are there. Returns whether the value is
// possible.
bool Model::evaluate_time() {
  const State& s = current();
  const bool is_delay = s.kind == Kind::kDelay;
  if (!is_delay && !s.timeout) return true;
  const int attempt = has(Fault::kAttemptIsNotCounted) ? 1 : state_attempt_;
  const auto time = read_time(s, is_delay ? s.duration : *s.timeout, data_, attempt, run_);
  if (!time) return false;
  if (s.writing != Writing::kConstant) count("evaluated time");
  if (is_delay) {
    wake_at_ = time->until ? std::max(*time->until, now_) : now_ + *time->span;
  } else {
    state_deadline_ = time->until ? std::max(*time->until, now_ + 1) : now_ + *time->span;
    state_span_ = time->span;
  }
  return true;
}

void Model::enter(const std::string& id, const Json& data, bool by_retry, int attempt) {
  calls_.clear();
  state_deadline_.reset();
  wake_at_.reset();
  state_span_.reset();
  state_retry_at_ = {};
  held_answers_.clear();
  held_event_.reset();
  state_ = id;
  data_ = data;
  if (paused()) {  // a run or retry during a pause starts at the end of the pause
    pending_ = id, pending_data_ = data, pending_by_retry_ = by_retry;
    if (!(has(Fault::kRetryIgnoresPausedWorkflow) && by_retry && !paused_)) return;
  }
  pending_.reset();
  per_attempt_ = by_retry || (per_attempt_ && has(Fault::kPerAttemptStays));
  last_entry_[id] = data;
  first_entry_.emplace(id, data);
  entry_number_[id] = ++entries_;
  // A definition may have a loop in which no state waits.
  if (std::exchange(entered_at_, now_) != now_) entries_at_once_ = 0;
  if (++entries_at_once_ > 100) return doubt("states follow each other without an end");
  state_attempt_ = attempt;

  const State& s = current();
  if (!evaluate_time()) {
    count("a time that is not possible");
    acted_[id] = false;
    return state_failed({"millrace.duration.invalid", "", false, false});
  }
  acted_[id] = s.check.empty() || !is_true(data_, s.check);
  if (!acted_[id]) {
    if (s.kind == Kind::kNoop) note();  // its transform fails after the state has done its work
    return raise({"direktiv.jq.badCommand", "", false, false});
  }
  switch (s.kind) {
    case Kind::kWait:
      if (!kept_events_.empty()) {
        const Json payload = kept_events_.front();
        kept_events_.pop_front();
        succeed_wait(payload);
      }
      break;
    case Kind::kDelay:
      break;
    case Kind::kNoop:
      leave();
      break;
    case Kind::kError:  // only the first error state has an effect, and the run continues
      if (!error_state_) {
        error_state_ = Error{s.error_code, "", false, false};
        error_state_id_ = id;
        failed_state_ = caught_before_error_.empty() ? id : caught_before_error_;
        if (data_.contains("error")) data_["error"] = {{"code", s.error_code}};
      }
      leave();
      break;
    case Kind::kBranch: {
      const bool yes = is_true(data_, s.condition);
      data_["seen"].push_back(id);
      go(yes ? s.branch_to : s.to);
      break;
    }
    default:
      start_calls();
  }
}

void Model::start_calls() {
  const State& s = current();
  const bool each = s.kind == Kind::kForeach;
  const Json items = each ? data_.value("items", Json::array()) : Json::array();
  const size_t wanted = each ? items.size() : s.actions.size();
  for (size_t i = 0; i < wanted; i++) {
    Call c;
    c.index = static_cast<int>(i);
    c.serial = ++serial_;
    c.action = &s.actions[each ? 0 : i];
    c.input = each ? items[i] : data_;
    calls_.push_back(c);
  }
  for (size_t i = 0; i < wanted; i++) {
    const auto policy = policy_of(definition_, s, *calls_[i].action);
    if (!policy || policy->attempts != 0) {
      offer(calls_[i]);
      continue;
    }
    // A skipped call has the result null and no error. In mode `or` it counts neither as a success
    // nor as a failure.
    calls_[i].at = At::kDone;
    calls_[i].skipped = true;
    count("skipped action");
  }
  const auto done = [](const Call& c) { return c.at == At::kDone; };
  if (std::all_of(calls_.begin(), calls_.end(), done)) leave();
}

// Leaves the current state, which has succeeded.
void Model::leave() {
  const State& s = current();
  if (!calls_.empty() || s.kind == Kind::kForeach) {
    Json all = Json::array();
    for (const Call& c : calls_) all.push_back(c.at == At::kDone ? c.result : Json());
    data_["return"] = s.kind == Kind::kAction ? all[0] : all;
  }
  if (!notes_each_call()) note();
  data_["seen"].push_back(s.id);
  go(s.to);
}

void Model::go(const std::string& to) {
  if (to.empty())
    finish();
  else if (to == kNextRun)
    next_run();
  else
    enter(to, data_);
}

void Model::finish() {
  if (in_on_failure_) return end("failed", first_code("millrace.timeout.execution"));
  if (error_state_) return run_failed(*error_state_);
  if (error_before_retry_)
    return doubt("how a run ends that passed an error state before a manual retry");
  end("complete", "");
}

// Ends the run by continueAsNew. An instance that has an error ends with that error instead. Of the
// history of the run, nothing is left that a rerun could start from.
void Model::next_run() {
  if (in_on_failure_ || error_state_ || error_before_retry_) return finish();
  count("next run by continueAsNew");
  input_ = data_;
  runs_of_policy_ = 1;
  if (!has(Fault::kNextRunKeepsHistory)) {
    last_entry_.clear(), first_entry_.clear();
    entry_number_.clear(), acted_.clear();
  }
  const auto limits = std::tuple(run_deadline_, kill_at_, interrupt_at_);
  begin_run(definition_.states.front().id, input_);
  if (has(Fault::kNextRunKeepsLimits)) std::tie(run_deadline_, kill_at_, interrupt_at_) = limits;
}

void Model::succeed_wait(const Json& payload) {
  data_[kEventType] = payload;
  leave();
}

}  // namespace millrace::reference
