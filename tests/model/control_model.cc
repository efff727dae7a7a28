#include "tests/model/control_model.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <utility>

namespace millrace::reference {

// The policies.

const char* name_of(Vocabulary vocabulary) {
  const char* const names[] = {"direktiv", "steep", "temporal", "stevora", "zart"};
  return names[static_cast<int>(vocabulary)];
}

Policy read_policy(const Retry& w) {
  Policy p;
  p.vocabulary = w.vocabulary;
  switch (w.vocabulary) {
    case Vocabulary::kDirektiv:  // max_attempts counts the retries after the first attempt
      p.attempts = int64_t{w.attempts.value_or(0)} + 1;
      p.delay = w.delay.value_or(0);
      p.factor = w.factor.value_or(1);
      p.only = w.codes;
      break;
    case Vocabulary::kSteep:  // -1 is unlimited, 0 skips
      p.attempts = w.attempts.value_or(1);
      p.delay = w.delay.value_or(0);
      p.factor = w.factor.value_or(1);
      if (p.factor > 1 && w.max_delay) p.max_delay = *w.max_delay;
      break;
    case Vocabulary::kTemporal:  // 0 or absent is unlimited
      p.attempts = w.attempts.value_or(0) == 0 ? kUnlimited : *w.attempts;
      p.delay = w.delay.value_or(1000);
      p.factor = w.factor.value_or(2.0);
      p.max_delay = w.max_delay.value_or(100 * p.delay);
      p.never = w.codes;
      break;
    case Vocabulary::kStevora:
      p.attempts = w.attempts.value_or(3);
      p.delay = w.delay.value_or(1000);
      p.factor = w.factor.value_or(2);
      p.max_delay = w.max_delay.value_or(300'000);
      p.jitter = 0.25;
      break;
    case Vocabulary::kZart:  // fixed(attempts, delay)
      p.attempts = w.attempts.value_or(1);
      p.delay = w.delay.value_or(0);
      break;
  }
  return p;
}

Interval wait_after(const Policy& p, int64_t attempt) {
  const double raw =
      static_cast<double>(p.delay) * std::pow(p.factor, static_cast<double>(attempt - 1));
  const double wait = std::min(raw, static_cast<double>(p.max_delay));  // infinity takes max_delay
  return {static_cast<Ms>(std::floor((1 - p.jitter) * wait)), static_cast<Ms>(std::floor(wait))};
}

bool retries(const Policy& p, const Error& error, bool caught) {
  if (error.final) return false;
  switch (p.vocabulary) {
    case Vocabulary::kDirektiv:  // retried on an uncaught failure, by code
      if (caught) return false;
      return std::any_of(p.only.begin(), p.only.end(), [&](const std::string& code) {
        return code == "*" || std::regex_search(error.code, std::regex(code));
      });
    case Vocabulary::kTemporal:
      return std::find(p.never.begin(), p.never.end(), error.code) == p.never.end();
    case Vocabulary::kZart:
      return !error.timeout;
    default:
      return true;
  }
}

Error used_up(const Policy& p, const Error& last, const std::string& state, int64_t attempts) {
  switch (p.vocabulary) {
    case Vocabulary::kDirektiv:
      return {"direktiv.retries.exceeded", "", false, false};
    case Vocabulary::kZart:  // the message has the last code and text
      return {"direktiv.retries.exceeded", last.code, false, false};
    case Vocabulary::kStevora: {
      Error e = last;
      e.message = "Step '" + state + "' failed after " + std::to_string(attempts) +
                  " attempts: " + last.message;
      return e;
    }
    default:
      return last;
  }
}

Bounds bounds_of(const Definition& d, const Action& a) {
  std::map<std::string, Timeout> keys;  // the nearest wins, key by key
  if (const Function* f = d.function(a.function))
    for (const Timeout& t : f->timeouts) keys[t.key] = t;
  for (const Timeout& t : a.timeouts) keys[t.key] = t;

  Bounds b;
  const auto add = [&b](Limit limit, const Timeout& t, const char* code, bool final,
                        bool cancels = false) {
    // Temporal fails a workflow whose activity timed out.
    const char* status = t.key.ends_with("Timeout") ? "failed|timedout" : "failed";
    b[limit] =
        Bound{t.key + (t.per_attempt ? " per attempt" : ""), t.time,
              Error{std::string("millrace.timeout.") + code, "", true, final, status}, cancels};
  };
  for (const auto& [key, t] : keys) {
    if (key == "scheduleToStartTimeout") add(Limit::kScheduleToStart, t, "scheduleToStart", true);
    if (key == "startToCloseTimeout") add(Limit::kStartToClose, t, "startToClose", false);
    if (key == "scheduleToCloseTimeout") add(Limit::kScheduleToClose, t, "scheduleToClose", true);
    if (key == "heartbeatTimeout") add(Limit::kHeartbeat, t, "heartbeat", false);
    if (key == "maxInactivity") add(Limit::kHeartbeat, t, "heartbeat", false, !t.error_on_timeout);
    if (key == "maxRuntime")
      add(Limit::kStartToClose, t, "startToClose", false, !t.error_on_timeout);
    if (key == "deadline")
      add(Limit::kScheduleToClose, t, "scheduleToClose", true, !t.error_on_timeout);
    if (key == "timeout" && t.per_attempt) add(Limit::kStartToClose, t, "startToClose", true);
    if (key == "timeout" && !t.per_attempt)
      add(Limit::kScheduleToClose, t, "scheduleToClose", true);
  }
  // Temporal's default of start-to-close is schedule-to-close: as that one's deadline is never
  // later, the default never decides and is left out.
  return b;
}

namespace {
bool has_temporal_key(const std::vector<Timeout>& timeouts) {
  return std::any_of(timeouts.begin(), timeouts.end(),
                     [](const Timeout& t) { return t.key.ends_with("Timeout"); });
}
}  // namespace

std::optional<Policy> policy_of(const Definition& d, const State& s, const Action& a) {
  const Function* f = d.function(a.function);
  if (a.retry) return read_policy(*a.retry);
  if (s.retry) return read_policy(*s.retry);
  if (f && f->retry) return read_policy(*f->retry);
  if (has_temporal_key(a.timeouts) || (f && has_temporal_key(f->timeouts)))
    return read_policy(Retry(Vocabulary::kTemporal));
  // the other three systems have no default policy: one attempt
  if (d.defaults == Vocabulary::kStevora || d.defaults == Vocabulary::kTemporal)
    return read_policy(Retry(*d.defaults));
  return std::nullopt;
}

bool glob_matches(const std::string& p, const std::string& t) {
  if (p.empty()) return t.empty();
  if (p[0] == '*')
    return glob_matches(p.substr(1), t) || (!t.empty() && glob_matches(p, t.substr(1)));
  return !t.empty() && (p[0] == '?' || p[0] == t[0]) && glob_matches(p.substr(1), t.substr(1));
}

namespace {
bool one_of(const std::string& text, const std::string& alternatives) {
  return ("|" + alternatives + "|").find("|" + text + "|") != std::string::npos;
}

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

bool has_ended(const std::string& status) {
  return one_of(status, "complete|failed|cancelled|timedout");
}
}  // namespace

// Time.

namespace {
constexpr int kRankOfDelay = 10;
}

// Everything that happens by itself, with its moment. `held_back_too`: also what a pause or the
// broker holds back.
std::vector<Model::Due> Model::dues(bool held_back_too) {
  std::vector<Due> all;
  if (phase_ == Phase::kEnded) return all;
  const auto add = [&all](std::optional<Ms> at, int rank, const char* what,
                          std::function<void()> fire) {
    if (at && *at >= 0) all.push_back({*at, rank, what, std::move(fire)});
  };

  // While the broker is away it may hold an event that came before any of these.
  const bool held_by_broker =
      away_ && !held_back_too && waits_for_event() && !has(Fault::kWaitTimesOutWhileAway);
  if (held_by_broker) return all;

  // Of the execution and the run. A pause does not hold these back.
  add(run_limits_doubt_, 0, "",
      [this] { doubt("whether the limits of the run count anew after a manual retry"); });
  if (!in_on_failure_)
    add(execution_deadline_, 0, "execution timeout", [this] { execution_expired(); });
  if (phase_ == Phase::kLive) {
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

  // Of the step.
  if (paused() && !held_back_too && !has(Fault::kPauseHoldsNothing)) return all;
  if (phase_ == Phase::kBetweenRuns) {
    add(next_run_at_.low, 9, "next run", [this] {
      if (next_run_at_.low != next_run_at_.high)
        doubt("the subject does not show when the next run begins");
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
  add(state_retry_at_.low, 9, "next attempt of a wait", [this] {
    const int attempt = state_attempt_;
    enter(state_, data_);
    state_attempt_ = attempt + 1;
  });
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

// Does all that is due at this moment, one thing after the other. A deadline is compared before
// anything new begins.
void Model::settle() {
  for (int things = 0; !dead_ && undecided_.empty(); things++) {
    if (things > 1000) doubt("it goes on without an end at one moment");
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
      if (due[0].rank == 0) continue;  // the execution's is first
      if (due[0].rank == 1 && !deadline(other)) continue;
      if (due[0].rank == 2 && !deadline(other)) continue;
      if (due[0].rank >= 4 && !deadline(other))
        continue;  // a retry that comes due too late does not run
      doubt("several things are due at " + std::to_string(now_) + " ms and their order is open");
    }
    if (phase_ == Phase::kLive && deadline(due[0]) && !held_answers_.empty())
      doubt("a deadline passes while an answer is held back");
    for (const Due& other : due)
      if (deadline(due[0]) && other.rank == kRankOfDelay && other.at < due[0].at)
        doubt("a deadline passed behind the end of a delay, and nothing could be done between");
    if (deadline(due[0]) && away_ && pending_ && current().kind == Kind::kWait)
      doubt("whether a wait that a pause keeps from beginning waits for the broker");
    if (!undecided_.empty()) return;
    if (!on_its_way()) kept_events_.clear();
    count(due[0].what);
    due[0].fire();
  }
}

void Model::advance_to(Ms to) {
  while (const auto next = next_due()) {
    if (*next > to) break;
    now_ = std::max(now_, *next);
    settle();
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
  settle();
}

std::optional<Ms> Model::execution_time() const {
  return definition_.timeout ? definition_.timeout : definition_.execution;
}

void Model::set_run_deadlines() {
  const auto after = [this](std::optional<Ms> time) {
    return time ? std::optional<Ms>(now_ + *time) : std::nullopt;
  };
  run_deadline_ = after(definition_.run);  // its default is the execution's, which is first anyway
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
  if (!has(Fault::kPerAttemptStays)) per_attempt_ = false;
  enter(state, data);
}

void Model::enter(const std::string& id, const Json& data, bool by_retry) {
  calls_.clear();
  state_deadline_.reset();
  wake_at_.reset();
  state_retry_at_ = {};
  held_answers_.clear();
  held_event_.reset();
  state_ = id;
  data_ = data;
  if (paused()) {  // a run or a retry that was asked for in a pause begins when it ends
    pending_ = id, pending_data_ = data, pending_by_retry_ = by_retry;
    if (!(has(Fault::kRetryIgnoresPausedWorkflow) && by_retry && !paused_)) return;
  }
  pending_.reset();
  per_attempt_ = by_retry || (per_attempt_ && has(Fault::kPerAttemptStays));
  last_entry_[id] = data;
  first_entry_.emplace(id, data);
  entry_number_[id] = ++entries_;
  // A definition may go round without ever waiting for anything.
  if (std::exchange(entered_at_, now_) != now_) entries_at_once_ = 0;
  if (++entries_at_once_ > 100) return doubt("states follow each other without an end");
  state_attempt_ = 1;

  const State& s = current();
  if (s.timeout) state_deadline_ = now_ + *s.timeout;
  acted_[id] = s.check.empty() || !is_true(data_, s.check);
  if (!acted_[id]) return raise({"direktiv.jq.badCommand", "", false, false});
  switch (s.kind) {
    case Kind::kWait:
      if (!kept_events_.empty()) {
        const Json payload = kept_events_.front();
        kept_events_.pop_front();
        succeed_wait(payload);
      }
      break;
    case Kind::kDelay:
      wake_at_ = now_ + s.duration;
      break;
    case Kind::kNoop:
      leave();
      break;
    case Kind::kError:  // only the first one has an effect; it does not end the run
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
    // No error, and the result is null. With mode or it neither succeeds nor fails.
    calls_[i].at = At::kDone;
    calls_[i].skipped = true;
    count("skipped action");
  }
  const auto done = [](const Call& c) { return c.at == At::kDone; };
  if (std::all_of(calls_.begin(), calls_.end(), done)) leave();
}

// The state has what it wanted.
void Model::leave() {
  const State& s = current();
  if (!calls_.empty() || s.kind == Kind::kForeach) {
    Json all = Json::array();
    for (const Call& c : calls_) all.push_back(c.at == At::kDone ? c.result : Json());
    data_["return"] = s.kind == Kind::kAction ? all[0] : all;
  }
  data_["seen"].push_back(s.id);
  go(s.to);
}

void Model::go(const std::string& to) {
  if (to.empty())
    finish();
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

void Model::succeed_wait(const Json& payload) {
  data_[kEventType] = payload;
  leave();
}

// Calls.

void Model::offer(Call& c) {
  const Bounds b = bounds_of(definition_, *c.action);
  const bool first = c.first < 0;
  if (!first) c.serial = ++serial_;
  c.attempt++;
  offered_++;
  c.at = At::kOffered;
  c.retry_at = {};
  if (first) c.first = now_;
  for (const auto& [limit, bound] : b) {
    if (limit == Limit::kScheduleToStart) c.deadlines[limit] = now_ + bound.time;
    if (limit != Limit::kScheduleToClose) continue;
    if (per_attempt_)
      c.doubt = now_ + bound.time;  // its countdown is per attempt, from the take
    else if (first || has(Fault::kDeadlineIsRenewed))
      c.deadlines[limit] = now_ + bound.time;
  }
}

void Model::take(const std::string& handle) {
  for (Call& c : calls_) {
    if (std::to_string(c.serial) != handle || c.at != At::kOffered || phase_ != Phase::kLive)
      continue;
    c.at = At::kTaken;
    c.deadlines.erase(Limit::kScheduleToStart);
    for (const auto& [limit, bound] : bounds_of(definition_, *c.action)) {
      if (limit == Limit::kStartToClose || limit == Limit::kHeartbeat)
        c.deadlines[limit] = now_ + bound.time;
      if (limit == Limit::kScheduleToClose && per_attempt_) {
        if (c.doubt == now_ + bound.time)
          c.doubt.reset();  // handed out and taken at the same moment
        c.deadlines[limit] = now_ + bound.time;
      }
    }
  }
  settle();
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
  if (in_on_failure_) doubt("maxInactivity, maxRuntime or deadline cancels in on_failure");
  end("cancelled", "");
}

// All that is due comes before this, so the answer of a call that is still taken is in time.
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
      return settle();
    }
    if (std::to_string(c.serial) != handle || c.at != At::kTaken) continue;
    if (phase_ == Phase::kEnded) {  // it was cancelled: the result goes to history
      std::erase_if(calls_, [&](const Call& x) { return x.serial == c.serial; });
      return;
    }
    if (paused()) {
      c.at = At::kAnswered;
      held_answers_.push_back({c.serial, outcome, now_});
      return;
    }
    apply(c, outcome);
    break;
  }
  settle();
}

void Model::apply(Call& c, const Outcome& outcome) {
  if (!outcome.ok) return call_failed(c, {outcome.code, outcome.message, false, false});
  c.at = At::kDone;
  c.deadlines.clear();
  c.doubt.reset();
  c.result = outcome.result;
  const auto done = [](const Call& x) { return x.at == At::kDone; };
  if (current().any || std::all_of(calls_.begin(), calls_.end(), done)) leave();
}

void Model::call_failed(Call& c, const Error& error) {
  c.error = error;
  const auto policy = policy_of(definition_, current(), *c.action);
  // With mode or it is not the state that fails.
  const bool is_caught = !current().any && caught(error.code);
  if (!policy || !retries(*policy, error, is_caught) ||
      (has(Fault::kCatchBeforePolicy) && is_caught))
    return branch_failed(c, error);

  const Interval wait = wait_after(*policy, c.attempt);
  const bool ten_years = policy->attempts == kUnlimited &&
                         policy->vocabulary == Vocabulary::kTemporal &&
                         now_ + wait.low >= c.first + kTenYears;
  if ((policy->attempts != kUnlimited && c.attempt >= policy->attempts) || ten_years) {
    count(std::string("attempts used up by ") + name_of(policy->vocabulary));
    return branch_failed(c, used_up(*policy, error, state_, c.attempt));
  }

  if (held_at_ && *held_at_ != now_ && wait.high > 0)
    doubt("the wait after an answer that was held back");
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
        count(std::string("attempt of a wait by ") + name_of(policy.vocabulary));
        state_retry_at_ = moment(wait_after(policy, state_attempt_));
        return;
      }
      error = used_up(policy, error, state_, state_attempt_);
    }
  }
  raise(error);
}

void Model::raise(const Error& error) {
  // More members are not compared. Behind an error state, or after the execution's deadline, it may
  // be the error that the instance ends with, where nothing catches this one.
  data_["error"] = {{"code", error.code}};
  const bool open = (error_state_ || in_on_failure_) && !caught(error.code);
  if (open) data_["error"] = {{"$any", true}};
  for (const Catch& c : current().catches) {
    if (!glob_matches(c.pattern, error.code)) continue;
    count("catch");
    // The clean-up behind an error state is no failure of its own.
    const State* const next = c.to.empty() ? nullptr : definition_.find(c.to);
    if (!error_state_ && next && next->kind == Kind::kError) caught_before_error_ = state_;
    go(c.to);
    caught_before_error_.clear();
    return;
  }
  run_failed(error);
}

// The first error state's error is that of the run, whatever fails behind it.
void Model::run_failed(const Error& raised) {
  if (in_on_failure_) return end("failed", first_code("millrace.timeout.execution"));
  const bool interrupt = raised.code == "direktiv.cancels.timeout";
  Error error = error_state_ ? *error_state_ : raised;
  if (!error_state_) failed_state_ = state_;
  std::string status = raised.status;
  if (definition_.retry && (!interrupt || has(Fault::kInterruptIsRetried))) {
    const Policy policy = read_policy(*definition_.retry);
    Error asked = error;
    asked.final = false;  // that is said of the policy of an action
    if (retries(policy, asked, false)) {
      if (policy.attempts == kUnlimited || runs_of_policy_ < policy.attempts) {
        if (rerun_) doubt("the run after one that was begun with rerun");
        if (held_at_ && *held_at_ != now_) doubt("the wait after an answer that was held back");
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
        error.message = last.message;  // of which step?
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

void Model::end(const std::string& status, const std::string& code, const std::string& message) {
  count("ends " + status.substr(0, status.find('|')));
  status_ = status;
  code_ = code;
  message_ = error_state_ ? "" : message;
  run_known_ = phase_ == Phase::kLive;
  data_known_ = run_known_ && !held_event_ && !pending_;
  phase_ = Phase::kEnded;
  calls_.clear();
  state_deadline_.reset(), wake_at_.reset();
  state_retry_at_ = next_run_at_ = {};
  pending_.reset();
  held_answers_.clear();
  held_at_.reset();
  held_event_.reset();
  kept_events_.clear();
  paused_ = false;
}

// A deadline of the whole. Behind an error state it is open whether its error and its state stay.
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

// From outside.

std::vector<TaskView> Model::tasks() {
  std::vector<TaskView> all;
  if (phase_ != Phase::kLive) return all;
  for (const Call& c : calls_)
    if (c.at == At::kOffered || c.at == At::kTaken)
      all.push_back({std::to_string(c.serial), run_, state_, c.index, c.attempt, c.at == At::kTaken,
                     c.input});
  return all;
}

bool Model::waits_for_event() const {
  return phase_ == Phase::kLive && !pending_ && current().kind == Kind::kWait &&
         state_retry_at_.low < 0 && !held_event_;
}

// Whether events are kept for a wait that it may come to.
bool Model::on_its_way() const {
  return phase_ == Phase::kLive && (pending_ || held_event_ || !calls_.empty());
}

bool Model::may_wait() const {
  return std::any_of(definition_.states.begin(), definition_.states.end(),
                     [](const State& s) { return s.kind == Kind::kWait; });
}

// An event that nobody waits for is gone, unless it is on its way there.
void Model::send_event(const std::string& type, const Json& payload) {
  if (type != kEventType) return;
  if (!waits_for_event()) {
    if (on_its_way()) {
      kept_events_.push_back(payload);
    } else {
      passed_event_ = true;
    }
    return;
  }
  if (paused())
    held_event_ = payload;  // taken, and applied on resume
  else
    succeed_wait(payload);
  settle();
}

// What a worker has is let finish, and then it is cancelled; whether its deadlines, and those of
// the whole, end that before is open.
std::string Model::status_after_cancel() const {
  const auto has_passed = [this](std::optional<Ms> at) { return at && *at <= now_; };
  bool open = has_passed(execution_deadline_) || has_passed(run_deadline_) || has_passed(kill_at_);
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
  if (verb == Verb::kPauseWorkflow) {  // which of two pauses a resume ends is open
    return paused_ || workflow_paused_ ? std::nullopt : std::optional(Reply::kAccepted);
  }
  if (verb == Verb::kResumeWorkflow && workflow_paused_) return Reply::kAccepted;
  if (temporary) return std::nullopt;
  const auto past = [this](std::optional<Ms> at) { return at && *at <= now_; };
  switch (verb) {
    case Verb::kCancel:
      if (status_ == "cancelled" && !live) return std::nullopt;  // again: is that a mistake?
      return live ? Reply::kAccepted : Reply::kConflict;
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
        if (policy && policy->attempts == 0) return std::nullopt;  // it was skipped: did it act?
      }
      // The data of states that neither waited nor acted need not be kept.
      if (last_entry_.count(state) && !acted_.at(state)) return std::nullopt;
      return last_entry_.count(state) ? Reply::kAccepted : Reply::kConflict;
    }
    default:
      return std::nullopt;
  }
}

Reply Model::command(Verb verb, const std::string& state) {
  const auto reply = would(verb, state);
  if (!reply) {
    doubt("what this command does now");
    return Reply::kOther;
  }
  if (*reply != Reply::kAccepted) return *reply;
  passed_event_ = false;
  const bool was_paused = paused();
  switch (verb) {
    case Verb::kCancel: {  // a running action finishes; one that nobody has taken may be over
      std::vector<Call> running = calls_;
      std::erase_if(running,
                    [](const Call& c) { return c.at != At::kTaken && c.at != At::kOffered; });
      end("cancelled", "");
      calls_ = running;
      break;
    }
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
      Json data = verb == Verb::kRestart ? input_ : last_entry_.at(state);
      if (verb == Verb::kRerun && has(Fault::kRerunWithLastData)) data = data_;
      begin_run(verb == Verb::kRestart ? definition_.states.front().id : state, data);
      rerun_ = verb == Verb::kRerun;
      break;
    }
  }
  if (was_paused && !paused() && phase_ == Phase::kLive) resume_current();
  settle();
  return Reply::kAccepted;
}

// What was held back happens; then the current step has fresh deadlines, those of the execution go
// on.
void Model::resume_current() {
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
  if (state_deadline_) state_deadline_ = now_ + *current().timeout;
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

// Whether run timeout, interrupt and kill go on or count anew in the same run is open: before the
// first of both nothing of it is seen.
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

// The failed state again, with the data of its last entry; everything that counts attempts begins
// anew.
void Model::retry(bool extend) {
  const std::string id = has(Fault::kRetryBeginsLastState) ? state_ : failed_state_;
  Json data = last_entry_.at(id);
  if (has(Fault::kRetryWithFirstData)) data = first_entry_.at(id);
  if (has(Fault::kRetryKeepsError) && data_.contains("error")) data["error"] = data_["error"];
  if (extend && execution_deadline_) execution_deadline_ = now_ + *execution_time();
  if (!has(Fault::kRunsStayUsedUp)) runs_of_policy_ = 1;
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
    // What a worker has said of itself meanwhile could not be heard: its silence counts from now.
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
  const int entries = entries_;
  settle();
  // What the stream is read again from is not said.
  if (passed_event_ && entries_ != entries && may_wait())
    doubt("whether an event that nobody waited for is read again for a wait that begins now");
}

void Model::broker_away() { away_ = true; }

void Model::broker_back() {
  away_ = false;
  settle();
}

// What it shows.

// As an engine, the model shows one of what would be right.
void Model::choose() {
  for (std::string* text : {&failed_state_, &status_, &code_}) {
    std::vector<std::string> all(1);
    for (const char c : *text)
      if (c == '|')
        all.emplace_back();
      else
        all.back() += c;
    *text = all[seed_ % all.size()];
  }
}

Observation Model::observe() {
  Observation o;
  if (dead_) return o;
  if (seed_ != 0 && phase_ == Phase::kEnded) choose();
  o.run = run_;
  o.calls = offered_;
  if (!running_after_cancel() && held_answers_.empty()) o.tasks = tasks();
  if (phase_ == Phase::kEnded) {
    o.status = running_after_cancel() ? status_after_cancel() : status_;
    if (running_after_cancel()) return o;
    if (!run_known_) o.run.reset();
    if (data_known_) o.data = data_;
    if (code_ != "?" && status_ != "cancelled") o.error_code = code_;
    if (!message_.empty()) o.error_message = message_;
    if (status_ == "complete")
      o.failed_state = "";
    else if (status_ != "cancelled")
      o.failed_state = failed_state_;
    o.next_retry_at = Interval{};
    return o;
  }

  std::vector<Ms> deadlines;
  for (const Due& d : dues(true))
    if (d.rank < 9) deadlines.push_back(d.at);
  if (!paused()) o.deadline = deadlines;
  // An answer that ends the instance may do so in the pause.
  if (!workflow_paused_ && held_answers_.empty()) o.paused = paused_;
  if (phase_ == Phase::kBetweenRuns) {
    o.status = paused() ? "paused|waiting|pending" : "waiting";
    o.run.reset();  // the run that failed, or the next one
    if (!paused()) o.next_retry_at = next_run_at_;
    return o;
  }
  if (pending_) {
    o.status = "pending|paused";
    return o;
  }
  o.state = state_;
  if (paused()) o.status = "paused|running|waiting|pending";
  if (!held_answers_.empty()) o.status.reset();  // it may have ended already
  if (held_answers_.empty() && !held_event_) o.data = data_;
  if (!held_answers_.empty()) o.state.reset();
  if (paused()) return o;

  std::vector<Interval> waits;
  for (const Call& c : calls_)
    if (c.at == At::kResting) waits.push_back(c.retry_at);
  if (state_retry_at_.low >= 0) waits.push_back(state_retry_at_);
  if (waits.size() < 2) o.next_retry_at = waits.empty() ? Interval{} : waits[0];
  const bool in_flight = std::any_of(calls_.begin(), calls_.end(), [](const Call& c) {
    return c.at == At::kOffered || c.at == At::kTaken;
  });
  o.status = in_flight ? "running|waiting|pending" : "waiting";
  if (in_flight && current().kind == Kind::kAction) o.attempt = calls_[0].attempt;
  return o;
}

// Takes over from the subject what the documents leave to it within bounds. Call it after both were
// compared.
void Model::adopt(const Observation& subject) {
  const auto narrow = [&](Interval& mine) {
    if (mine.low == mine.high || !subject.next_retry_at) return;
    const Ms at = subject.next_retry_at->low;
    if (at >= mine.low && at <= mine.high) mine = {at, at};
  };
  for (Call& c : calls_) narrow(c.retry_at);
  narrow(state_retry_at_);
  narrow(next_run_at_);
  const auto choose = [](std::string& mine, const std::optional<std::string>& theirs) {
    if (theirs && one_of(*theirs, mine)) mine = *theirs;
  };
  if (!held_answers_.empty() && subject.status && has_ended(*subject.status)) {
    // With them it has ended: that is no new work, so it need not wait for the resume.
    paused_ = false;
    const bool workflow_paused = std::exchange(workflow_paused_, false);
    resume_current();
    workflow_paused_ = workflow_paused;
  }
  if (phase_ != Phase::kEnded) return;
  const auto is_taken = [](const Call& c) { return c.at == At::kTaken; };
  if (subject.status == "cancelled" && std::none_of(calls_.begin(), calls_.end(), is_taken)) {
    calls_.clear();
  }
  choose(failed_state_, subject.failed_state);
  if (!running_after_cancel()) choose(status_, subject.status);
  choose(code_, subject.error_code);
}

}  // namespace millrace::reference
