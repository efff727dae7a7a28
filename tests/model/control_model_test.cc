// The rows, formulas and examples of the policy documents, calculated by hand.
#include "tests/model/control_model.h"

#include <gtest/gtest.h>

namespace millrace::reference {
namespace {

constexpr Ms s = 1000, min = 60 * s, h = 60 * min, day = 24 * h;

using Strings = std::vector<std::string>;
using Times = std::vector<Ms>;

// How a test is written.

Retry policy(Vocabulary v, std::optional<int> attempts, std::optional<Ms> delay = {},
             std::optional<double> factor = {}, std::optional<Ms> max_delay = {},
             Strings codes = {}) {
  Retry r(v);
  r.attempts = attempts, r.delay = delay, r.factor = factor, r.max_delay = max_delay,
  r.codes = std::move(codes);
  return r;
}
Retry direktiv(int attempts, Ms delay, Strings codes = {"*"}, std::optional<double> factor = {}) {
  return policy(Vocabulary::kDirektiv, attempts, delay, factor, {}, std::move(codes));
}
Retry steep(int attempts, Ms delay, std::optional<double> factor = {}, std::optional<Ms> max = {}) {
  return policy(Vocabulary::kSteep, attempts, delay, factor, max);
}
Retry temporal(std::optional<int> attempts = {}, std::optional<Ms> delay = {},
               std::optional<double> factor = {}, std::optional<Ms> max = {}, Strings never = {}) {
  return policy(Vocabulary::kTemporal, attempts, delay, factor, max, std::move(never));
}
Retry stevora(std::optional<int> attempts = {}, std::optional<Ms> delay = {},
              std::optional<double> factor = {}, std::optional<Ms> max = {}) {
  return policy(Vocabulary::kStevora, attempts, delay, factor, max);
}
Retry zart(int attempts, Ms delay) { return policy(Vocabulary::kZart, attempts, delay); }

Timeout limit(const char* key, Ms time, bool error = false, bool per_attempt = false) {
  return {key, time, error, per_attempt};
}

Action call(std::optional<Retry> retry = {}, std::vector<Timeout> timeouts = {},
            const char* function = "f") {
  return {function, std::move(retry), std::move(timeouts)};
}
State state(const char* id, Kind kind, const char* to = "") {
  State x;
  x.id = id, x.kind = kind, x.to = to;
  return x;
}
State action(const char* id, std::optional<Retry> retry = {}, std::vector<Timeout> timeouts = {},
             const char* to = "") {
  State x = state(id, Kind::kAction, to);
  x.actions = {call(std::move(retry), std::move(timeouts))};
  return x;
}
State wait(const char* id, std::optional<Ms> timeout = {}, std::optional<Retry> retry = {},
           const char* to = "") {
  State x = state(id, Kind::kWait, to);
  x.timeout = timeout, x.retry = std::move(retry);
  return x;
}
State delay(const char* id, Ms duration, const char* to = "") {
  State x = state(id, Kind::kDelay, to);
  x.duration = duration;
  return x;
}
State caught(State x, Strings patterns, const char* to) {
  for (const auto& p : patterns) x.catches.push_back({p, to});
  return x;
}
State parallel(const char* id, bool any, std::vector<Action> actions, const char* to = "") {
  State x = state(id, Kind::kParallel, to);
  x.any = any, x.actions = std::move(actions);
  return x;
}
Definition workflow(std::vector<State> states) {
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

  // Fails each call at once, as often as `most`; when the calls were made.
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

Times waits(const Retry& r, int count) {
  Times all;
  for (int n = 1; n <= count; n++) all.push_back(wait_after(read_policy(r), n).high);
  return all;
}

// Document 000, Steep.

TEST(Steep, SixDelays) {
  EXPECT_EQ(waits(steep(7, 1 * s, 2, 10 * s), 6),
            (Times{1 * s, 2 * s, 4 * s, 8 * s, 10 * s, 10 * s}));
}
TEST(Steep, ExampleOfFiveAttempts) {
  World w(workflow({action("a", steep(5, 1 * s, 2, 10 * s))}));
  EXPECT_EQ(w.fail_all(), (Times{0, 1 * s, 3 * s, 7 * s, 15 * s}));
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "busy");  // the last error
}
TEST(Steep, DefaultIsOneAttempt) {
  World w(workflow({action("a", policy(Vocabulary::kSteep, {}))}));
  EXPECT_EQ(w.fail_all(), (Times{0}));
}
TEST(Steep, DelayDefaultsToNothing) {
  World w(workflow({action("a", policy(Vocabulary::kSteep, 3))}));
  EXPECT_EQ(w.fail_all(), (Times{0, 0, 0}));
}
TEST(Steep, NoBackoffByDefault) {
  EXPECT_EQ(waits(steep(9, 3 * s), 3), (Times{3 * s, 3 * s, 3 * s}));
}
TEST(Steep, MaxDelayOnlyAppliesToABackoff) {
  EXPECT_EQ(waits(steep(9, 20 * s, 1, 10 * s), 2), (Times{20 * s, 20 * s}));
}
TEST(Steep, MinusOneIsUnlimited) {
  World w(workflow({action("a", steep(-1, 1 * s))}));
  EXPECT_EQ(w.fail_all(60).size(), 61u);
  EXPECT_FALSE(w.ended());
}
TEST(Steep, ZeroSkips) {
  World w(workflow({action("a", steep(0, 1 * s), {}, "b"), delay("b", 1 * s)}));
  EXPECT_EQ(w.calls(), 0);
  EXPECT_EQ(w.at(), "b");
  EXPECT_TRUE(w.data().at("return").is_null());
}
TEST(Steep, ExampleOfTimeoutsSilenceCancels) {
  World w(
      workflow({caught(action("a", steep(3, 0),
                              {limit("maxInactivity", 5 * min), limit("deadline", 1 * h, true)}),
                       {"*"}, "c"),
                delay("c", 1 * s)}));
  w.take();
  w.to(4 * min), w.beat();
  w.to(9 * min - 1);
  EXPECT_TRUE(w.open());
  w.to(9 * min);
  EXPECT_EQ(w.status(), "cancelled");  // neither a retry nor a catch
  EXPECT_EQ(w.calls(), 1);
  EXPECT_EQ(w.retry(), Reply::kConflict);
}
TEST(Steep, ExampleOfTimeoutsDeadlineIsAnError) {
  World w(
      workflow({caught(action("a", steep(3, 0),
                              {limit("maxInactivity", 5 * min), limit("deadline", 1 * h, true)}),
                       {"millrace.timeout.*"}, "c"),
                delay("c", 1 * s)}));
  w.take();
  for (Ms t = 4 * min; t < 1 * h; t += 4 * min) w.to(t), w.beat();
  w.to(1 * h);
  EXPECT_EQ(w.at(), "c");
  EXPECT_EQ(w.data()["error"]["code"], "millrace.timeout.scheduleToClose");
  EXPECT_EQ(w.calls(), 1);  // the deadline is final
}
TEST(Steep, ErrorsOfInactivityAndRuntimeAreRetried) {
  for (const char* key : {"maxInactivity", "maxRuntime"}) {
    World w(workflow({action("a", steep(2, 2 * s), {limit(key, 10 * s, true)})}));
    w.to(3 * s), w.take();
    w.to(13 * s);
    EXPECT_EQ(w.status(), "waiting");
    EXPECT_EQ(w.retry_at(), 15 * s);
    w.to(15 * s), w.take();
    w.to(25 * s);
    EXPECT_EQ(w.status(), "failed");
    EXPECT_EQ(w.code(),
              std::string("millrace.timeout.") + (key[3] == 'I' ? "heartbeat" : "startToClose"));
  }
}
TEST(Steep, PolicyIsAskedBeforeCatch) {
  World w(workflow({caught(action("a", steep(2, 1 * s)), {"*"}, "c"), delay("c", 1 * s)}));
  w.fail();
  EXPECT_EQ(w.status(), "waiting");
  w.to(1 * s), w.fail("gone");
  EXPECT_EQ(w.at(), "c");
  EXPECT_EQ(w.data()["error"]["code"], "gone");
}

// Document 001, Temporal.

TEST(Temporal, Defaults) {
  const Policy p = read_policy(temporal());
  EXPECT_EQ(p.attempts, kUnlimited);
  EXPECT_EQ(p.delay, 1 * s);
  EXPECT_EQ(p.factor, 2.0);
  EXPECT_EQ(p.max_delay, 100 * s);
  EXPECT_EQ(waits(temporal(), 8),
            (Times{1 * s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 64 * s, 100 * s}));
}
TEST(Temporal, MaximumIntervalIsAHundredTimesTheInitial) {
  EXPECT_EQ(read_policy(temporal({}, 500)).max_delay, 50 * s);
  EXPECT_EQ(waits(temporal({}, 4 * s, {}, 3 * s), 1), (Times{3 * s}));
}
TEST(Temporal, CoefficientOne) {
  EXPECT_EQ(waits(temporal({}, {}, 1.0), 3), (Times{1 * s, 1 * s, 1 * s}));
}
TEST(Temporal, MaximumAttempts) {
  EXPECT_EQ(read_policy(temporal(0)).attempts, kUnlimited);
  World one(workflow({action("a", temporal(1))}));
  EXPECT_EQ(one.fail_all(), (Times{0}));
  EXPECT_EQ(one.code(), "busy");
  World three(workflow({action("a", temporal(3))}));
  EXPECT_EQ(three.fail_all(), (Times{0, 1 * s, 3 * s}));
  EXPECT_EQ(three.code(), "busy");
}
TEST(Temporal, NonRetryableErrorsAreExact) {
  World w(workflow({action("a", temporal(5, {}, {}, {}, {"bus", "gone"}))}));
  w.fail("busy");
  EXPECT_EQ(w.status(), "waiting");
  w.to(1 * s), w.fail("gone");
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "gone");
}
TEST(Temporal, TenYears) {
  const Ms year = 365 * day + 6 * h;
  World w(workflow({action("a", temporal(0, 4 * year, 1.0, 4 * year))}));
  EXPECT_EQ(w.fail_all(), (Times{0, 4 * year, 8 * year}));
  EXPECT_EQ(w.code(), "busy");
}
TEST(Temporal, KeysWithoutAPolicyHaveItsDefault) {
  World w(workflow({action("a", {}, {limit("startToCloseTimeout", 10 * s)})}));
  w.take(), w.to(10 * s);
  EXPECT_EQ(w.retry_at(), 11 * s);
}
TEST(Temporal, ScheduleToStartIsOfEachTaskAndNeverRetried) {
  World w(workflow(
      {action("a", temporal(5),
              {limit("scheduleToStartTimeout", 5 * s), limit("startToCloseTimeout", 1 * h)})}));
  w.to(4 * s), w.take();
  w.to(30 * s), w.fail();  // the task was taken in time
  w.to(31 * s);
  EXPECT_EQ(w.attempt(), 2);
  w.to(36 * s - 1);
  EXPECT_FALSE(w.ended());
  w.to(36 * s);
  EXPECT_EQ(w.code(), "millrace.timeout.scheduleToStart");
  EXPECT_EQ(w.calls(), 2);
}
TEST(Temporal, StartToCloseIsOfEachAttempt) {
  World w(workflow({action("a", temporal(3), {limit("startToCloseTimeout", 5 * s)})}));
  w.to(60 * s);
  EXPECT_FALSE(w.ended());  // it counts from the take
  w.take();
  w.to(65 * s);
  EXPECT_EQ(w.retry_at(), 66 * s);
  w.to(67 * s), w.take();
  w.to(72 * s - 1), w.ok();
  EXPECT_EQ(w.status(), "complete");
}
TEST(Temporal, ScheduleToCloseSpansAttemptsAndWaits) {
  World w(
      workflow({action("a", temporal(0, 10 * s, 1.0), {limit("scheduleToCloseTimeout", 25 * s)})}));
  w.to(1 * s), w.fail();
  w.to(11 * s), w.take();
  w.to(20 * s), w.fail();
  w.to(25 * s - 1);
  EXPECT_EQ(w.status(), "waiting");
  w.to(25 * s);
  EXPECT_EQ(w.code(), "millrace.timeout.scheduleToClose");
  EXPECT_EQ(w.calls(), 2);
}
TEST(Temporal, HeartbeatIsRetried) {
  World w(
      workflow({action("a", temporal(2),
                       {limit("startToCloseTimeout", 1 * h), limit("heartbeatTimeout", 10 * s)})}));
  w.to(20 * s), w.take();
  w.to(29 * s), w.beat();
  w.to(39 * s);
  EXPECT_EQ(w.retry_at(), 40 * s);
  w.to(40 * s), w.take(), w.to(50 * s);
  EXPECT_EQ(w.code(), "millrace.timeout.heartbeat");
}
TEST(Temporal, ExecutionTimeoutIncludesTheRuns) {
  Definition d = workflow({action("a")});
  d.retry = temporal(0, 4 * s, 1.0);
  d.execution = 10 * s;
  World w(d);
  w.to(1 * s), w.fail();  // run 1
  w.to(5 * s);            // run 2
  EXPECT_EQ(*w.observe().run, 2);
  w.to(10 * s);
  EXPECT_EQ(w.status(), "timedout");
  EXPECT_EQ(w.code(), "millrace.timeout.execution");
  EXPECT_EQ(w.calls(), 2);
}
TEST(Temporal, RunTimeoutEndsTheExecution) {
  Definition d = workflow({action("a")});
  d.retry = temporal(0);
  d.run = 10 * s;
  World w(d);
  w.to(4 * s), w.fail();
  w.to(5 * s);
  w.to(15 * s - 1);
  EXPECT_FALSE(w.ended());  // run 2 has its own
  w.to(15 * s);
  EXPECT_EQ(w.status(), "timedout");
  EXPECT_EQ(w.code(), "millrace.timeout.run");
  w.to(1 * h);
  EXPECT_EQ(w.calls(), 2);
}
TEST(Temporal, AWorkflowHasNoPolicyByDefault) {
  World w(workflow({action("a", temporal(1))}));
  w.fail();
  EXPECT_EQ(w.status(), "failed");
}
TEST(Temporal, RunsBeginAtTheFirstStateWithTheInput) {
  Definition d = workflow({action("a", {}, {}, "b"), action("b")});
  d.retry = temporal(3);
  World w(d);
  w.ok(), w.fail();
  EXPECT_EQ(w.retry_at(), 1 * s);
  w.to(1 * s);
  EXPECT_EQ(w.at(), "a");
  EXPECT_FALSE(w.data().contains("return"));
  w.ok(), w.fail();
  w.to(3 * s), w.ok(), w.fail();
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.calls(), 6);
}

// Document 002, Stevora.

TEST(Stevora, DefaultsAndJitter) {
  const Policy p = read_policy(stevora());
  EXPECT_EQ(p.attempts, 3);
  EXPECT_EQ(wait_after(p, 1), (Interval{750, 1000}));
  EXPECT_EQ(wait_after(p, 2), (Interval{1500, 2000}));
  EXPECT_EQ(wait_after(p, 3), (Interval{3000, 4000}));
  EXPECT_EQ(wait_after(p, 4), (Interval{6000, 8000}));
  EXPECT_EQ(wait_after(p, 15), (Interval{225'000, 300'000}));
  EXPECT_EQ(wait_after(read_policy(stevora(5, 2000, 3)), 3), (Interval{13'500, 18'000}));
  EXPECT_EQ(wait_after(read_policy(stevora({}, 101)), 1), (Interval{75, 101}));  // floored
}
TEST(Stevora, FailureFlow) {
  World x(workflow({action("send", stevora())}));
  x.fail("busy");
  EXPECT_EQ(x.status(), "waiting");
  EXPECT_EQ(*x.observe().next_retry_at, (Interval{750, 1000}));
  x.fail_all();
  EXPECT_EQ(x.calls(), 3);
  EXPECT_EQ(x.status(), "failed");
  EXPECT_EQ(x.code(), "busy");
  EXPECT_EQ(*x.observe().error_message, "Step 'send' failed after 3 attempts: it is busy");
}
TEST(Stevora, JitterIsTakenFromTheSubject) {
  World w(workflow({action("a", stevora())}));
  w.fail();
  Observation o;
  o.next_retry_at = Interval{801, 801};
  w.adopt(o);
  w.to(800);
  EXPECT_EQ(w.calls(), 1);
  w.to(801);
  EXPECT_EQ(w.calls(), 2);
}
TEST(Stevora, ManualRetryBeginsThePolicyAnew) {
  World w(workflow({action("a", stevora(2))}));
  w.fail_all();
  EXPECT_EQ(w.calls(), 2);
  EXPECT_EQ(w.retry(), Reply::kAccepted);
  EXPECT_EQ(w.attempt(), 1);
  w.fail_all();
  EXPECT_EQ(w.calls(), 4);
  EXPECT_EQ(w.status(), "failed");
}
TEST(Stevora, AsADefaultOfTheWorkflow) {
  Definition d = workflow({action("a")});
  d.defaults = Vocabulary::kStevora;
  World w(d);
  EXPECT_EQ(w.fail_all(), (Times{0, 1000, 3000}));
}

// Document 004, Zart.

TEST(Zart, GlobalScope) {  // first attempt at 10:21:30 → deadline 10:26:30
  World w(workflow({action("a", zart(3, 1 * s), {limit("timeout", 5 * min)})}));
  w.take(), w.to(30 * s), w.fail();
  w.to(31 * s), w.take();
  w.to(5 * min - 1);
  EXPECT_FALSE(w.ended());  // attempt 2 has 4m29s
  w.to(5 * min);
  EXPECT_EQ(w.code(), "millrace.timeout.scheduleToClose");
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.calls(), 2);
}
TEST(Zart, PerAttemptScope) {
  World w(workflow({action("a", zart(3, 1 * s), {limit("timeout", 30 * s, false, true)})}));
  for (int n = 0; n < 2; n++) w.take(), w.to(w.now() + 29 * s), w.fail(), w.to(w.now() + 1 * s);
  EXPECT_EQ(w.now(), 60 * s);
  w.take(), w.to(90 * s - 1);
  EXPECT_FALSE(w.ended());
  w.ok();
  EXPECT_EQ(w.status(), "complete");
}
TEST(Zart, OutcomeTableTimeoutIsTerminal) {
  for (const bool per_attempt : {false, true}) {
    World w(
        workflow({action("a", zart(3, 1 * s), {limit("timeout", 30 * s, false, per_attempt)})}));
    w.take(), w.to(30 * s);
    EXPECT_TRUE(w.ended());
    EXPECT_EQ(w.calls(), 1);
  }
}
TEST(Zart, OutcomeTableRetriesExhausted) {
  World w(workflow({action("a", zart(3, 1 * s))}));
  EXPECT_EQ(w.fail_all(), (Times{0, 1 * s, 2 * s}));
  EXPECT_EQ(w.code(), "direktiv.retries.exceeded");
  EXPECT_EQ(*w.observe().error_message, "busy");  // is in the text
}
TEST(Zart, ItsPolicyRetriesNoTimeoutOfAnotherSystem) {
  World w(workflow({action("a", zart(3, 1 * s), {limit("startToCloseTimeout", 30 * s)})}));
  w.take(), w.to(30 * s);
  EXPECT_EQ(w.code(), "millrace.timeout.startToClose");
}
TEST(Zart, RetryAfterTheDeadlineDoesNotRun) {
  const Definition d = workflow({action("a", zart(3, 10 * s), {limit("timeout", 15 * s)})});
  World live(d);
  live.to(8 * s), live.fail();
  live.to(15 * s);
  EXPECT_EQ(live.code(), "millrace.timeout.scheduleToClose");
  EXPECT_EQ(live.calls(), 1);
  World dead(d);  // due at 11 s, the deadline passes too before the process is there again
  dead.to(1 * s), dead.fail();
  dead.kill(), dead.to(20 * s), dead.start_process();
  EXPECT_EQ(dead.code(), "millrace.timeout.scheduleToClose");
  EXPECT_EQ(dead.calls(), 1);
  World same(
      workflow({action("a", zart(3, 7 * s), {limit("timeout", 15 * s)})}));  // due at the deadline
  same.to(8 * s), same.fail(), same.to(15 * s);
  EXPECT_EQ(same.calls(), 1);
  EXPECT_TRUE(same.ended());
}
TEST(Zart, HierarchyOfDeadlines) {
  const auto failed_at_30m = [](State x) {
    Definition d = workflow({std::move(x)});
    d.timeout = 30 * min;
    World w(d);
    if (w.open()) w.take();
    w.to(30 * min - 1);
    EXPECT_FALSE(w.ended());
    w.to(30 * min);
    EXPECT_EQ(w.status(), "failed");
    EXPECT_EQ(w.code(), "millrace.timeout.execution");
    EXPECT_EQ(*w.observe().failed_state, "a");
  };
  failed_at_30m(action("a", zart(3, 1 * s), {limit("timeout", 2 * h)}));
  failed_at_30m(action("a"));
  failed_at_30m(delay("a", 1 * h));
  failed_at_30m(wait("a", 7 * day));
  failed_at_30m(wait("a"));
}
TEST(Zart, OnFailureRunsOnceAndThenItIsFailed) {
  Definition d = workflow({action("a"), action("refund")});
  d.timeout = 30 * min;
  d.on_failure = "refund";
  World w(d);
  w.take(), w.to(30 * min);
  EXPECT_EQ(w.at(), "refund");
  EXPECT_EQ(w.data()["error"]["code"], "millrace.timeout.execution");
  w.to(5 * h);  // outside the exceeded deadline
  EXPECT_FALSE(w.ended());
  w.ok();
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "millrace.timeout.execution");
  EXPECT_EQ(*w.observe().failed_state, "a");
  EXPECT_EQ(w.retry(), Reply::kConflict);
  EXPECT_EQ(w.command(Verb::kRetryExtend), Reply::kAccepted);
  EXPECT_EQ(w.at(), "a");  // the state that failed, without the error in its data
  EXPECT_FALSE(w.data().contains("error"));
  EXPECT_FALSE(w.data().contains("return"));
}
TEST(Zart, OnFailureIsBoundedByItsOwnTimeouts) {
  Definition d = workflow({action("a"), action("refund", {}, {limit("timeout", 10 * s)})});
  d.timeout = 30 * s;
  d.on_failure = "refund";
  World w(d);
  w.take(), w.to(30 * s);
  w.take(), w.to(40 * s);
  EXPECT_EQ(w.status(), "failed");
}
TEST(Zart, OnFailureIsNotForOtherFailures) {
  Definition d = workflow({action("a"), action("refund")});
  d.timeout = 30 * s;
  d.on_failure = "refund";
  World w(d);
  w.fail();
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.calls(), 1);
}
TEST(Zart, TimeoutOfTheExecutionIsNotRetried) {
  Definition d = workflow({action("a")});
  d.timeout = 30 * s;
  d.retry = temporal(0);
  World w(d);
  w.to(2 * min);
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.calls(), 1);
}
TEST(Zart, EventWait) {
  World w(workflow({wait("a", 7 * day)}));
  w.to(7 * day - 1);
  EXPECT_EQ(w.status(), "waiting");
  w.to(7 * day);
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "direktiv.stateTimeout");
  World forever(workflow({wait("a")}));
  forever.to(5000 * day);
  EXPECT_EQ(forever.status(), "waiting");
  forever.event();
  EXPECT_EQ(forever.status(), "complete");
  EXPECT_EQ(forever.data()["go"], (Json{{"e", 1}}));
}
TEST(Zart, ItsPolicyDoesNotRetryAWait) {
  World w(workflow({wait("a", 10 * s, zart(3, 1 * s))}));
  w.to(10 * s);
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "direktiv.stateTimeout");
  Definition d = workflow({wait("a", 10 * s)});
  d.retry = zart(3, 1 * s);
  World runs(d);
  runs.to(10 * s);
  EXPECT_EQ(runs.status(), "failed");
}
TEST(Zart, CancelOfWhatWaitsIsAtOnce) {
  for (const State& x : {wait("a"), delay("a", 1 * h)}) {
    World w(workflow({x}));
    EXPECT_EQ(w.command(Verb::kCancel), Reply::kAccepted);
    EXPECT_EQ(w.status(), "cancelled");
    EXPECT_EQ(w.would(Verb::kCancel, ""), std::nullopt);
    EXPECT_EQ(w.retry(), Reply::kConflict);
  }
  World between(workflow({action("a", zart(3, 1 * s))}));
  between.fail();
  between.command(Verb::kCancel);
  EXPECT_EQ(between.status(), "cancelled");
  between.to(1 * h);
  EXPECT_EQ(between.calls(), 1);
}
TEST(Zart, CancelLetsARunningStepFinish) {
  World w(workflow({action("a", {}, {}, "b"), action("b")}));
  w.take();
  const std::string handle = w.tasks()[0].handle;
  w.command(Verb::kCancel);
  EXPECT_EQ(w.status(), "running|waiting|pending");
  w.answer(handle, {true, {{"k", 1}}, "", ""});
  EXPECT_EQ(w.status(), "cancelled");
  EXPECT_EQ(w.calls(), 1);
  EXPECT_FALSE(w.data().contains("return"));
}
TEST(Zart, AdminRetryHasAFreshBudgetPerAttempt) {
  World w(workflow({action("a", zart(3, 10 * s), {limit("timeout", 30 * s)}, "b"), action("b")}));
  w.take(), w.to(30 * s);
  EXPECT_EQ(w.status(), "failed");
  w.to(1 * h);
  EXPECT_EQ(w.retry(), Reply::kAccepted);
  w.take(), w.to(1 * h + 25 * s), w.fail();
  w.to(1 * h + 35 * s), w.take();  // a global deadline would have passed at 30 s
  EXPECT_EQ(w.attempt(), 2);
  w.to(1 * h + 65 * s - 1);
  EXPECT_FALSE(w.ended());
  w.to(1 * h + 65 * s);
  EXPECT_EQ(w.status(), "failed");
}
TEST(Zart, TheRunAfterAnAdminRetryHasAGlobalDeadlineAgain) {
  Definition d = workflow({action("a", zart(2, 20 * s), {limit("timeout", 30 * s)})});
  d.retry = steep(2, 5 * s);
  World w(d);
  w.take(), w.to(30 * s);  // final for the action; the workflow's policy has a run follow
  w.to(35 * s), w.take(), w.to(65 * s);
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.retry(), Reply::kAccepted);
  w.fail(), w.to(85 * s), w.fail();
  w.to(90 * s);  // the policy of the workflow began anew: a run follows
  EXPECT_EQ(*w.observe().run, 3);
  w.to(95 * s), w.fail(), w.to(115 * s), w.take();
  w.to(120 * s);
  EXPECT_EQ(w.status(), "failed");
}
TEST(Zart, RestartAndRerunHaveFreshDeadlines) {
  for (const Verb verb : {Verb::kRestart, Verb::kRerun}) {
    Definition d = workflow({action("a", {}, {limit("timeout", 30 * s)})});
    d.timeout = 1 * min;
    World w(d);
    w.take(), w.to(30 * s);
    EXPECT_TRUE(w.ended());
    w.to(2 * min);
    EXPECT_EQ(w.retry(), Reply::kConflict);
    EXPECT_EQ(w.command(verb, verb == Verb::kRerun ? "a" : ""), Reply::kAccepted);
    w.to(2 * min + 30 * s - 1);
    EXPECT_FALSE(w.ended());
    w.ok();
    EXPECT_EQ(w.status(), "complete");
  }
}

// Document 003, Direktiv.

TEST(Direktiv, MaxAttemptsAreRetries) {
  World w(workflow({action("a", direktiv(2, 3 * s, {"*"}, 2))}));
  EXPECT_EQ(w.fail_all(), (Times{0, 3 * s, 9 * s}));
  EXPECT_EQ(w.code(), "direktiv.retries.exceeded");
}
TEST(Direktiv, ExceededCanBeCaught) {
  World w(workflow(
      {caught(action("a", direktiv(1, 0)), {"direktiv.retries.*"}, "c"), delay("c", 1 * s)}));
  w.fail(), w.fail();
  EXPECT_EQ(w.at(), "c");
  EXPECT_EQ(w.data()["error"]["code"], "direktiv.retries.exceeded");
}
TEST(Direktiv, OnlyAnUncaughtFailureIsRetried) {
  World w(workflow({caught(action("a", direktiv(3, 0)), {"busy"}, "c"), delay("c", 1 * s)}));
  w.fail("gone");
  EXPECT_EQ(w.calls(), 2);
  w.fail("busy");
  EXPECT_EQ(w.at(), "c");
}
TEST(Direktiv, CodesAreSearched) {
  World w(workflow({action("a", direktiv(3, 0, {"us"}))}));
  w.fail("busy");
  EXPECT_EQ(w.calls(), 2);
  w.fail("gone");
  EXPECT_EQ(w.code(), "gone");
}
TEST(Direktiv, CatchIsAGlobInOrder) {
  State a = action("a");
  a.catches = {{"bus", "x"}, {"b*", "y"}, {"*", "x"}};
  World w(workflow({a, delay("x", 1 * s), delay("y", 1 * s)}));
  w.fail("busy");
  EXPECT_EQ(w.at(), "y");
  EXPECT_EQ(w.seen(), Json::array());  // the state's transform is not applied
  EXPECT_TRUE(glob_matches("b?sy", "busy"));
  EXPECT_FALSE(glob_matches("busy", "busybody"));
  EXPECT_TRUE(glob_matches("millrace.timeout.*", "millrace.timeout.run"));
}
TEST(Direktiv, StateTimeoutBoundsTheRetries) {
  State a = caught(action("a", steep(-1, 4 * s)), {"direktiv.stateTimeout"}, "c");
  a.timeout = 10 * s;
  World w(workflow({a, delay("c", 1 * s)}));
  w.fail(), w.to(4 * s), w.fail(), w.to(8 * s), w.fail();
  w.to(10 * s);
  EXPECT_EQ(w.at(), "c");
  EXPECT_EQ(w.calls(), 3);
}
TEST(Direktiv, StateTimeoutOfAnActionIsNotRetried) {
  State a = action("a", steep(5, 0));
  a.timeout = 10 * s;
  World w(workflow({a}));
  w.take(), w.to(10 * s);
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "direktiv.stateTimeout");
  Definition d = workflow({a});
  d.retry = steep(2, 0);
  World runs(d);  // the run has failed, and another one follows it
  runs.take(), runs.to(10 * s);
  EXPECT_EQ(*runs.observe().run, 2);
  runs.take(), runs.to(20 * s);
  EXPECT_EQ(runs.code(), "direktiv.stateTimeout");
}
TEST(Direktiv, AWaitIsTriedAgainWithAFreshTimeout) {
  World w(workflow({wait("a", 10 * s, direktiv(1, 5 * s, {"stateTimeout"}))}));
  w.to(10 * s);
  EXPECT_EQ(w.retry_at(), 15 * s);
  w.to(24 * s), w.event();
  EXPECT_EQ(w.status(), "complete");
  World u(workflow({wait("a", 10 * s, direktiv(1, 5 * s, {"stateTimeout"}))}));
  u.to(25 * s);
  EXPECT_EQ(u.code(), "direktiv.retries.exceeded");
}
TEST(Direktiv, AnEventAtTheDeadlineIsTooLate) {
  World w(workflow({wait("a", 10 * s)}));
  w.to(10 * s), w.event();
  EXPECT_EQ(w.status(), "failed");
}
TEST(Direktiv, InterruptIsCaughtOnceAndKillIsNot) {
  Definition d =
      workflow({caught(action("a"), {"direktiv.cancels.*"}, "c"), caught(action("c"), {"*"}, "a")});
  d.interrupt = 10 * s;
  d.kill = 30 * s;
  World w(d);
  w.take(), w.to(10 * s);
  EXPECT_EQ(w.at(), "c");
  EXPECT_EQ(w.data()["error"]["code"], "direktiv.cancels.timeout");
  w.take(), w.to(30 * s - 1);
  EXPECT_EQ(w.at(), "c");
  w.to(30 * s);
  EXPECT_EQ(w.status(), "timedout");
}
TEST(Direktiv, AnUncaughtInterruptFailsWithoutARetry) {
  Definition d = workflow({action("a", steep(5, 0))});
  d.interrupt = 10 * s;
  d.retry = steep(5, 0);
  World w(d);
  w.to(10 * s);
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "direktiv.cancels.timeout");
  EXPECT_EQ(w.calls(), 1);
}
TEST(Direktiv, InterruptCountsFromTheRun) {
  Definition d = workflow({action("a")});
  d.interrupt = 10 * s;
  d.retry = steep(2, 5 * s);
  World w(d);
  w.to(6 * s), w.fail();
  w.to(11 * s);  // run 2
  w.to(21 * s - 1);
  EXPECT_FALSE(w.ended());
  w.to(21 * s);
  EXPECT_EQ(w.code(), "direktiv.cancels.timeout");
}
TEST(Direktiv, ErrorStateGoesOnAndFailsAtTheEnd) {
  State e = state("e", Kind::kError, "undo");
  e.error_code = "x.failed";
  World w(workflow({caught(action("a"), {"*"}, "e"), e, action("undo")}));
  w.fail();
  EXPECT_EQ(w.at(), "undo");
  EXPECT_EQ(w.seen(), (Json{"e"}));
  w.ok();
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.code(), "x.failed");
  EXPECT_EQ(*w.observe().failed_state, "a");  // its error was caught
  EXPECT_EQ(w.retry(), Reply::kAccepted);
  EXPECT_EQ(w.at(), "a");
  EXPECT_EQ(w.seen(), Json::array());
}
TEST(Direktiv, AFailureOfTheCleanUpChangesNothing) {
  State e = state("e", Kind::kError, "undo");
  e.error_code = "x.failed";
  World w(workflow({caught(action("a"), {"*"}, "e"), e, action("undo")}));
  w.fail(), w.fail("gone");
  EXPECT_EQ(w.code(), "x.failed");
  EXPECT_EQ(*w.observe().failed_state, "a");
  World entered(workflow({action("a", {}, {}, "e"), e, action("undo")}));
  entered.ok(), entered.fail("gone");
  EXPECT_EQ(entered.code(), "x.failed");
  EXPECT_EQ(*entered.observe().failed_state, "e");  // no catch led to it
}
TEST(Direktiv, ParallelAnd) {
  World w(workflow({parallel("a", false, {call(), call()})}));
  w.ok({{"k", 2}}, 1);
  EXPECT_FALSE(w.ended());
  w.ok({{"k", 1}}, 0);
  EXPECT_EQ(w.data()["return"], (Json{{{"k", 1}}, {{"k", 2}}}));
  World f(workflow({parallel("a", false, {call(), call()})}));
  f.fail("busy", 1);
  EXPECT_EQ(f.code(), "busy");
}
TEST(Direktiv, ParallelOr) {
  World w(workflow({parallel("a", true, {call(), call()})}));
  w.fail("busy", 0);
  EXPECT_FALSE(w.ended());
  w.ok({{"k", 2}});
  EXPECT_EQ(w.data()["return"], (Json{nullptr, {{"k", 2}}}));
  World f(workflow({parallel("a", true, {call(), call()})}));
  f.fail(), f.fail();
  EXPECT_EQ(f.code(), "direktiv.parallel.allFailed");
}
TEST(Direktiv, Foreach) {
  State a = state("a", Kind::kForeach);
  a.actions = {call()};
  a.retry = steep(2, 1 * s);
  World w(workflow({a}));
  EXPECT_EQ(w.tasks().size(), 2u);
  EXPECT_EQ(w.tasks()[1].input, 2);
  w.fail("busy", 0), w.fail("busy", 0);  // counted per item
  w.to(1 * s);
  w.ok(10, 0), w.ok(20, 0);
  EXPECT_EQ(w.data()["return"], (Json{10, 20}));
}

TEST(Policies, TheNearestPolicyWinsAsAWhole) {
  Definition d = workflow({action("a")});
  d.functions[0].retry = steep(2, 1 * s);
  EXPECT_EQ(World(d).fail_all(), (Times{0, 1 * s}));
  d.states[0].retry = steep(2, 2 * s);
  EXPECT_EQ(World(d).fail_all(), (Times{0, 2 * s}));
  d.states[0].actions[0].retry = policy(Vocabulary::kSteep, 2);
  EXPECT_EQ(World(d).fail_all(), (Times{0, 0}));
}
TEST(Policies, TheNearestKeyWinsKeyByKey) {
  Definition d = workflow({action("a", {}, {limit("startToCloseTimeout", 5 * s)})});
  d.functions[0].timeouts = {limit("startToCloseTimeout", 50 * s),
                             limit("heartbeatTimeout", 9 * s)};
  const Bounds b = bounds_of(d, d.states[0].actions[0]);
  EXPECT_EQ(b.at(Limit::kStartToClose).time, 5 * s);
  EXPECT_EQ(b.at(Limit::kHeartbeat).time, 9 * s);
}
TEST(Policies, OverflowTakesTheLongest) {
  EXPECT_EQ(waits(steep(-1, 1 * s, 10, 7 * s), 400).back(), 7 * s);
}
TEST(Policies, TheExecutionsDeadlineIsBeforeAWaits) {
  for (const bool by_zart : {true, false}) {
    Definition d = workflow({caught(wait("a", 10 * s), {"*"}, "c"), delay("c", 1 * s)});
    (by_zart ? d.timeout : d.execution) = 10 * s;
    World w(d);
    w.to(10 * s);
    EXPECT_EQ(w.status(), by_zart ? "failed" : "timedout");
    EXPECT_EQ(w.code(), "millrace.timeout.execution");
  }
}
TEST(Policies, AnAnswerAtOrAfterItsDeadlineDoesNotCount) {
  World w(workflow({action("a", steep(2, 5 * s), {limit("maxRuntime", 10 * s, true)})}));
  w.take();
  const std::string handle = w.tasks()[0].handle;
  w.to(10 * s);
  w.answer(handle, {true, {{"k", 1}}, "", ""});
  EXPECT_EQ(w.status(), "waiting");
  w.to(15 * s), w.take();
  w.answer(handle, {true, {{"k", 1}}, "", ""});
  EXPECT_FALSE(w.ended());
  w.ok({{"k", 2}});
  EXPECT_EQ(w.data()["return"], (Json{{"k", 2}}));
}
TEST(Policies, ADoubleAnswerDoesNotCount) {
  World w(workflow({action("a", steep(2, 0))}));
  const std::string handle = w.fail();
  w.take();
  w.answer(handle, {true, {{"k", 1}}, "", ""});
  EXPECT_FALSE(w.ended());
  EXPECT_EQ(w.attempt(), 2);
}
TEST(Policies, ARestartOfTheProcessGoesOnWithTheWait) {
  World w(workflow({action("a", steep(2, 10 * s))}));
  w.fail();
  w.to(4 * s), w.kill();
  w.to(6 * s), w.start_process();
  EXPECT_EQ(w.retry_at(), 10 * s);
  w.to(7 * s), w.kill();
  w.to(30 * s);
  EXPECT_FALSE(w.observe().status);
  w.start_process();
  EXPECT_EQ(w.attempt(), 2);
}
TEST(Policies, ACallWhoseDeadlinePassedWhileDeadIsNotMadeAgain) {
  World w(workflow({action("a", zart(3, 1 * s), {limit("timeout", 10 * s)})}));
  w.take();
  const std::string handle = w.tasks()[0].handle;
  w.kill(), w.to(20 * s), w.start_process();
  w.answer(handle, {true, {{"k", 1}}, "", ""});
  EXPECT_EQ(w.status(), "failed");
  EXPECT_EQ(w.calls(), 1);
}
TEST(Policies, ARunningCallOutlivesTheProcess) {
  World w(workflow({action("a", {}, {limit("timeout", 10 * s)})}));
  w.take(), w.kill(), w.to(9 * s), w.start_process();
  w.ok();
  EXPECT_EQ(w.status(), "complete");
  EXPECT_EQ(w.calls(), 1);
}
TEST(Policies, PauseHoldsStepsBackAndResumeMakesFreshDeadlines) {
  World w(workflow({action("a", steep(1, 0),
                           {limit("maxInactivity", 10 * s, true), limit("maxRuntime", 20 * s, true),
                            limit("deadline", 30 * s, true)})}));
  w.take(), w.to(9 * s);
  EXPECT_EQ(w.command(Verb::kPause), Reply::kAccepted);
  w.to(1 * h);
  EXPECT_EQ(w.command(Verb::kResume), Reply::kAccepted);
  w.to(1 * h + 9 * s), w.beat();
  w.to(1 * h + 19 * s - 1);
  EXPECT_TRUE(w.open());
  w.to(1 * h + 19 * s);
  EXPECT_EQ(w.code(), "millrace.timeout.heartbeat");
}
TEST(Policies, PauseDoesNotHoldTheExecutionBack) {
  Definition d = workflow({wait("a", 5 * s)});
  d.execution = 30 * s;
  World w(d);
  w.command(Verb::kPause);
  w.to(30 * s - 1);
  EXPECT_FALSE(w.ended());
  w.to(30 * s);
  EXPECT_EQ(w.status(), "timedout");
}
TEST(Policies, AnEventInAPauseIsAppliedOnResume) {
  World w(workflow({wait("a", 5 * s, {}, "b"), action("b")}));
  w.command(Verb::kPause);
  w.to(8 * s), w.event();
  EXPECT_EQ(w.calls(), 0);
  w.to(9 * s), w.command(Verb::kResume);
  EXPECT_EQ(w.at(), "b");
  EXPECT_EQ(w.data()["go"], (Json{{"e", 1}}));
}
TEST(Policies, AnAnswerInAPauseIsAppliedOnResume) {
  World w(workflow({action("a", {}, {}, "b"), action("b")}));
  w.take(), w.command(Verb::kPause), w.ok();
  EXPECT_EQ(w.calls(), 1);
  w.to(9 * s), w.command(Verb::kResume);
  EXPECT_EQ(w.at(), "b");
}
TEST(Policies, NoAttemptAndNoRunStartsInAPause) {
  World w(workflow({action("a", steep(2, 5 * s))}));
  w.fail(), w.command(Verb::kPause), w.to(20 * s);
  EXPECT_EQ(w.calls(), 1);
  w.command(Verb::kResume);
  EXPECT_EQ(w.calls(), 2);
  Definition d = workflow({action("a")});
  d.retry = steep(2, 5 * s);
  World r(d);
  r.fail(), r.command(Verb::kPause), r.to(20 * s);
  EXPECT_EQ(r.calls(), 1);
  r.command(Verb::kResume);
  EXPECT_EQ(r.calls(), 2);
}
TEST(Policies, ARetryOfAPausedWorkflowWaits) {
  World w(workflow({action("a", {}, {limit("timeout", 10 * s)})}));
  w.fail(), w.command(Verb::kPauseWorkflow);
  EXPECT_EQ(w.retry(), Reply::kAccepted);
  w.to(1 * h);
  EXPECT_EQ(w.calls(), 1);
  w.command(Verb::kResumeWorkflow);
  EXPECT_EQ(w.calls(), 2);
  w.to(1 * h + 9 * s), w.ok();
  EXPECT_EQ(w.status(), "complete");
}
TEST(Policies, RetryIsForFailedAndTimedOut) {
  World running(workflow({action("a")}));
  EXPECT_EQ(running.retry(), Reply::kConflict);
  running.ok();
  EXPECT_EQ(running.retry(), Reply::kConflict);  // complete
  EXPECT_EQ(running.command(Verb::kPause), Reply::kConflict);
}
TEST(Policies, RetryAfterTheExecutionsDeadline) {
  Definition d = workflow({action("a")});
  d.execution = 30 * s;
  World w(d);
  w.to(5 * s), w.fail();
  EXPECT_EQ(w.retry(), Reply::kAccepted);  // the deadline has not passed, and goes on
  w.to(30 * s);
  EXPECT_EQ(w.status(), "timedout");
  EXPECT_EQ(w.retry(), Reply::kConflict);
  w.to(40 * s);
  EXPECT_EQ(w.command(Verb::kRetryExtend), Reply::kAccepted);
  w.to(70 * s - 1);
  EXPECT_FALSE(w.ended());
  w.to(70 * s);
  EXPECT_EQ(w.status(), "timedout");
}
TEST(Policies, RetryTakesTheDataOfTheLastEntry) {
  State more = state("more", Kind::kBranch, "");
  more.condition = ".return.again", more.branch_to = "a";
  World w(workflow({action("a", {}, {}, "more"), more}));
  w.ok({{"again", true}});
  EXPECT_EQ(w.seen(), (Json{"a", "more"}));
  w.fail();
  w.retry();
  EXPECT_EQ(w.seen(), (Json{"a", "more"}));
  w.ok({{"again", false}});
  EXPECT_EQ(w.seen(), (Json{"a", "more", "a", "more"}));
  EXPECT_EQ(w.status(), "complete");
  EXPECT_EQ(w.command(Verb::kRerun, "a"), Reply::kAccepted);
  EXPECT_EQ(w.seen(), (Json{"a", "more"}));
  EXPECT_EQ(*w.observe().run, 2);
}
TEST(Policies, RerunNeedsTheHistory) {
  World w(workflow({caught(action("a"), {"*"}, "c"), action("c")}));
  w.ok();
  EXPECT_EQ(w.command(Verb::kRerun, "c"), Reply::kConflict);  // it never came there
}
TEST(Policies, RetryAndRestartBeginTheWorkflowsPolicyAnew) {
  for (const Verb verb : {Verb::kRetry, Verb::kRestart}) {
    Definition d = workflow({action("a")});
    d.retry = steep(2, 5 * s);
    World w(d);
    EXPECT_EQ(w.fail_all(), (Times{0, 5 * s}));
    EXPECT_EQ(w.command(verb), Reply::kAccepted);
    EXPECT_EQ(w.fail_all(), (Times{5 * s, 10 * s}));
  }
}
TEST(Policies, AFailedHandlerIsAskedForByItsOwnName) {
  const Definition d = workflow({caught(action("a"), {"*"}, "c"), action("c")});
  World w(d);
  w.fail("busy"), w.fail("gone");
  EXPECT_EQ(w.code(), "gone");
  EXPECT_EQ(*w.observe().failed_state, "c");
  w.retry();
  EXPECT_EQ(w.data()["error"]["code"], "busy");  // it had this when it was entered
}
TEST(Policies, TheBrokerHoldsWaitsBackAndNothingElse) {
  Definition d = workflow({wait("a", 10 * s)});
  World w(d);
  w.broker_away(), w.to(20 * s);
  EXPECT_FALSE(w.ended());
  w.broker_back();
  EXPECT_EQ(w.code(), "direktiv.stateTimeout");
  World x(workflow({action("a", {}, {limit("maxRuntime", 10 * s, true)})}));
  x.take(), x.broker_away(), x.to(10 * s);
  EXPECT_EQ(x.code(), "millrace.timeout.startToClose");
}
TEST(Policies, WhereTheOrderIsOpenTheModelSaysSo) {
  State a = action("a", {}, {limit("maxRuntime", 10 * s, true)});
  a.timeout = 10 * s;
  Model m;
  m.begin(workflow({a}), "", Json::object());
  m.take(m.tasks()[0].handle);
  m.advance_to(10 * s);
  EXPECT_NE(m.undecided(), "");
}

}  // namespace
}  // namespace millrace::reference
