#include "tests/model/policies.h"

#include <algorithm>
#include <cmath>
#include <regex>

namespace millrace::reference {

const char* name_of(Vocabulary vocabulary) {
  const char* const names[] = {"direktiv", "steep", "temporal", "stevora", "zart"};
  return names[static_cast<int>(vocabulary)];
}

Policy read_policy(const Retry& w) {
  Policy p;
  p.vocabulary = w.vocabulary;
  p.delay_path = w.delay_path;
  switch (w.vocabulary) {
    case Vocabulary::kDirektiv:  // max_attempts counts the retries after the first attempt
      p.attempts = int64_t{w.attempts.value_or(0)} + 1;
      p.delay = w.delay.value_or(0);
      p.factor = w.factor.value_or(1);
      p.only = w.codes;
      break;
    case Vocabulary::kSteep:  // -1: no limit; 0: the action is skipped
      p.attempts = w.attempts.value_or(1);
      p.delay = w.delay.value_or(0);
      p.factor = w.factor.value_or(1);
      if (p.factor > 1 && w.max_delay) p.max_delay = *w.max_delay;
      break;
    case Vocabulary::kTemporal:  // 0 or absent: no limit
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
    case Vocabulary::kDirektiv:  // retries an error that no `catch` matches, if the policy has its
                                 // code
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
    case Vocabulary::kZart:  // the message has the code and the text of the last error
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
  std::map<std::string, Timeout> keys;  // for each key, the one nearest to the action
  if (const Function* f = d.function(a.function))
    for (const Timeout& t : f->timeouts) keys[t.key] = t;
  for (const Timeout& t : a.timeouts) keys[t.key] = t;

  Bounds b;
  const auto add = [&b](Limit limit, const Timeout& t, const char* code, bool final,
                        bool cancels = false) {
    // Temporal fails a workflow whose activity timed out; its manual can be read otherwise.
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
  // Temporal's default of start-to-close is schedule-to-close. The deadline of schedule-to-close is
  // never later, so the default never decides and is left out.
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

bool one_of(const std::string& text, const std::string& alternatives) {
  return ("|" + alternatives + "|").find("|" + text + "|") != std::string::npos;
}

}  // namespace millrace::reference
