// Helpers of the tests of the model: short functions that make definitions, and a model with short
// functions for its steps.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/control_model.h"

namespace millrace::reference {

inline constexpr Ms s = 1000, min = 60 * s, h = 60 * min, day = 24 * h;

using Strings = std::vector<std::string>;
using Times = std::vector<Ms>;

inline Retry policy(Vocabulary v, std::optional<int> attempts, std::optional<Ms> delay = {},
                    std::optional<double> factor = {}, std::optional<Ms> max_delay = {},
                    Strings codes = {}) {
  Retry r(v);
  r.attempts = attempts, r.delay = delay, r.factor = factor, r.max_delay = max_delay,
  r.codes = std::move(codes);
  return r;
}
inline Retry direktiv(int attempts, Ms delay, Strings codes = {"*"},
                      std::optional<double> factor = {}) {
  return policy(Vocabulary::kDirektiv, attempts, delay, factor, {}, std::move(codes));
}
inline Retry steep(int attempts, Ms delay, std::optional<double> factor = {},
                   std::optional<Ms> max = {}) {
  return policy(Vocabulary::kSteep, attempts, delay, factor, max);
}
inline Retry temporal(std::optional<int> attempts = {}, std::optional<Ms> delay = {},
                      std::optional<double> factor = {}, std::optional<Ms> max = {},
                      Strings never = {}) {
  return policy(Vocabulary::kTemporal, attempts, delay, factor, max, std::move(never));
}
inline Retry stevora(std::optional<int> attempts = {}, std::optional<Ms> delay = {},
                     std::optional<double> factor = {}, std::optional<Ms> max = {}) {
  return policy(Vocabulary::kStevora, attempts, delay, factor, max);
}
inline Retry zart(int attempts, Ms delay) { return policy(Vocabulary::kZart, attempts, delay); }

inline Timeout limit(const char* key, Ms time, bool error = false, bool per_attempt = false) {
  return {key, time, error, per_attempt};
}

inline Action call(std::optional<Retry> retry = {}, std::vector<Timeout> timeouts = {},
                   const char* function = "f") {
  return {function, std::move(retry), std::move(timeouts)};
}
inline State state(const char* id, Kind kind, const char* to = "") {
  State x;
  x.id = id, x.kind = kind, x.to = to;
  return x;
}
inline State action(const char* id, std::optional<Retry> retry = {},
                    std::vector<Timeout> timeouts = {}, const char* to = "") {
  State x = state(id, Kind::kAction, to);
  x.actions = {call(std::move(retry), std::move(timeouts))};
  return x;
}
inline State wait(const char* id, std::optional<Ms> timeout = {}, std::optional<Retry> retry = {},
                  const char* to = "") {
  State x = state(id, Kind::kWait, to);
  x.timeout = timeout, x.retry = std::move(retry);
  return x;
}
inline State delay(const char* id, Ms duration, const char* to = "") {
  State x = state(id, Kind::kDelay, to);
  x.duration = duration;
  return x;
}
inline State caught(State x, Strings patterns, const char* to) {
  for (const auto& p : patterns) x.catches.push_back({p, to});
  return x;
}
inline State parallel(const char* id, bool any, std::vector<Action> actions, const char* to = "") {
  State x = state(id, Kind::kParallel, to);
  x.any = any, x.actions = std::move(actions);
  return x;
}
inline Definition workflow(std::vector<State> states) {
  Definition d;
  d.functions = {{"f", {}, {}}};
  d.states = std::move(states);
  return d;
}

class World : public Model {
 public:
  explicit World(const Definition& d) {
    begin(d, "", {{"seen", Json::array()}, {"items", {1, 2}}});
    EXPECT_TRUE(valid(d));
  }
  ~World() override { EXPECT_EQ(undecided(), ""); }
  void to(Ms at) { advance_to(at); }
  void take(int i = 0) { Model::take(tasks().at(i).handle); }
  std::string ok(Json result = {{"k", 1}}, int i = 0) {
    return done(i, {true, std::move(result), "", ""});
  }
  std::string fail(const std::string& code = "busy", int i = 0) {
    return done(i, {false, {}, code, "it is " + code});
  }
  void beat(int i = 0) { heartbeat(tasks().at(i).handle); }
  void event(Json payload = {{"e", 1}}) { send_event(kEventType, payload); }
  Reply retry() { return command(Verb::kRetry); }
  std::string status() { return observe().status.value_or("?"); }
  std::string code() { return observe().error_code.value_or("?"); }
  std::string at() { return observe().state.value_or("?"); }
  Ms retry_at() { return observe().next_retry_at.value_or(Interval{}).high; }
  Json seen() { return observe().data.value_or(Json())["seen"]; }
  Json data() { return observe().data.value_or(Json()); }
  int calls() { return *observe().calls; }
  bool open() { return !tasks().empty(); }
  int attempt() { return tasks().at(0).attempt; }

  // Fails each call at once, at most `most` times; returns the times of the calls.
  Times fail_all(int most = 100, const std::string& code = "busy") {
    Times made;
    while (!ended()) {
      if (open()) {
        made.push_back(now());
        if (static_cast<int>(made.size()) > most) break;
        take();
        fail(code);
      } else if (const auto next = next_due()) {
        const auto o = observe();
        Observation longest = o;
        if (longest.next_retry_at) longest.next_retry_at->low = longest.next_retry_at->high;
        adopt(longest);
        to(std::max(*next_due(), now()));
      } else {
        break;
      }
    }
    return made;
  }

 private:
  std::string done(int i, const Outcome& outcome) {
    if (!tasks().at(i).taken) take(i);
    const std::string handle = tasks().at(i).handle;
    answer(handle, outcome);
    return handle;
  }
};

inline Times waits(const Retry& r, int count) {
  Times all;
  for (int n = 1; n <= count; n++) all.push_back(wait_after(read_policy(r), n).high);
  return all;
}

}  // namespace millrace::reference
