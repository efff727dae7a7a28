// Calls of a paused service: their timeouts until a worker starts them are suspended, and begin
// again when a worker starts the call or the service is resumed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/engine/engine.h"
#include "tests/tables/instance_run.h"
#include "tests/unit/engine/new_instance.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::SizeIs;

/// A lookup for which the service `mail` is paused.
class PausedMail final : public TestLookup {
 public:
  bool is_held(NamespaceNumber, const NamedService& service) const override {
    return is_paused && service.name == "mail";
  }
  bool is_paused = true;
};

/// An instance that calls the service `mail` once for each element of [1,2]; `timeouts` are keys of
/// the action.
class MailCalls {
 public:
  explicit MailCalls(const std::string& timeouts)
      : workflow_(load_right_workflow(R"(
id: w
functions: [{id: f, type: knative-namespace, service: mail}]
states:
- {id: call, type: foreach, array: jq(.all), action: {function: f)" +
                                      timeouts + "}}\n")),
        instance(new_instance(*workflow_, Json{{"all", {1, 2}}})) {
    give(Proceed{});
    EXPECT_THAT(instance.calls, SizeIs(2));
  }

  StepResult give(const Stimulus& stimulus, Duration after = Duration(0)) {
    return step(*workflow_, instance, stimulus, run_start() + after, lookup);
  }
  Caller call(uint32_t index) const {
    return {.instance = instance.id,
            .entered = instance.entered,
            .index = index,
            .attempt = instance.calls.at(index).attempt};
  }
  StepResult start(uint32_t index, Duration after = Duration(0)) {
    return give(CallStarted{call(index)}, after);
  }
  /// When the timer of the calls is due; empty: it is not set.
  std::string due() const {
    for (const Timer& timer : instance.timers) {
      if (timer.kind == TimerKind::kCalls) return shown_time(timer.deadline);
    }
    return "";
  }
  /// Fires the timer of the calls at its deadline.
  void fire() {
    for (const Timer& timer : std::vector<Timer>(instance.timers)) {
      if (timer.kind != TimerKind::kCalls) continue;
      give(Fired{.kind = timer.kind, .deadline = timer.deadline}, timer.deadline - run_start());
    }
  }
  std::string deadline(size_t index, TimeoutKind kind) const {
    const auto& deadline = instance.calls.at(index).deadlines[static_cast<size_t>(kind)];
    return deadline ? shown_time(*deadline) : "";
  }

 private:
  std::shared_ptr<const Workflow> workflow_;

 public:
  Instance instance;
  PausedMail lookup;
};

TEST(PausedServices, HaveTheirDeadlinesLookedAtOnceInAnHour) {
  const struct {
    const char* timeout;
    const char* first;   ///< when the timer is due at first
    const char* second;  ///< after it has fired once
    const char* third;
  } rows[] = {
      {"10s", "10s", "1h10s", "2h10s"},
      {"1h", "1h", "2h", "3h"},
      {"3h", "3h", "6h", "9h"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.timeout);
    MailCalls calls(std::string(", startToCloseTimeout: 1m, scheduleToStartTimeout: ") +
                    row.timeout);
    EXPECT_EQ(calls.due(), row.first);
    calls.fire();
    EXPECT_EQ(calls.due(), row.second);
    calls.fire();
    EXPECT_EQ(calls.due(), row.third);
    EXPECT_EQ(calls.instance.phase, Phase::kWaiting);
  }
}

TEST(PausedServices, DoNotHoldACallThatAWorkerHasStarted) {
  MailCalls calls(", scheduleToCloseTimeout: 1m");
  EXPECT_TRUE(calls.start(0, seconds(5)).changed);
  EXPECT_EQ(calls.deadline(0, TimeoutKind::kScheduleToClose), "1m5s") << "from the start";
  EXPECT_EQ(calls.deadline(1, TimeoutKind::kScheduleToClose), "1m");
  calls.fire();
  EXPECT_EQ(calls.deadline(1, TimeoutKind::kScheduleToClose), "1h1m") << "an hour is the least";
}

TEST(PausedServices, LetAStartedCallTimeOut) {
  for (const bool is_paused : {true, false}) {
    SCOPED_TRACE(is_paused);
    MailCalls calls(", scheduleToCloseTimeout: 1m");
    calls.lookup.is_paused = is_paused;
    calls.start(0, seconds(5));
    EXPECT_EQ(calls.deadline(0, TimeoutKind::kScheduleToClose), is_paused ? "1m5s" : "1m");
    calls.give(Returned{.call = calls.call(1), .result = LazyJson(Json(1))}, seconds(6));
    calls.fire();
    EXPECT_EQ(calls.instance.status, InstanceStatus::kFailed);
    ASSERT_TRUE(calls.instance.error);
    EXPECT_EQ(calls.instance.error->code, "millrace.timeout.scheduleToClose");
  }
}

TEST(PausedServices, BeginTheTimeoutsOfTheirWaitingCallsAgainWhenTheyResume) {
  const ServiceNames mail = {"mail"};
  const ServiceNames other = {"other"};
  const struct {
    const ServiceNames* names;
    bool changes;
  } rows[] = {{&mail, true}, {nullptr, true}, {&other, false}};
  for (const auto& row : rows) {
    MailCalls calls(", startToCloseTimeout: 1m, scheduleToStartTimeout: 10s");
    calls.start(0, seconds(2));
    EXPECT_EQ(calls.due(), "10s");
    EXPECT_EQ(calls.give(ServicesResumed{row.names}, seconds(5)).changed, row.changes);
    EXPECT_EQ(calls.deadline(0, TimeoutKind::kScheduleToStart), "");
    EXPECT_EQ(calls.deadline(0, TimeoutKind::kStartToClose), "1m2s");
    EXPECT_EQ(calls.due(), row.changes ? "15s" : "10s");
    calls.start(1, seconds(6));
    EXPECT_FALSE(calls.give(ServicesResumed{row.names}, seconds(7)).changed)
        << "both calls have started";
  }
}

TEST(PausedServices, ConcernOnlyTheCallsThatTheInstanceHas) {
  MailCalls calls(", startToCloseTimeout: 1m");
  calls.start(0);
  // The memory behind the calls has one that no worker has started.
  calls.instance.calls.pop_back();
  EXPECT_FALSE(calls.give(ServicesResumed{}).changed);
}

TEST(StartOfACall, CountsOnce) {
  MailCalls calls(", startToCloseTimeout: 1m");
  EXPECT_EQ(calls.due(), "");
  EXPECT_TRUE(calls.start(0, seconds(5)).changed);
  EXPECT_EQ(calls.due(), "1m5s");
  EXPECT_FALSE(calls.start(0, seconds(20)).changed) << "a second report of the same start";
  EXPECT_EQ(calls.due(), "1m5s");
  EXPECT_EQ(calls.deadline(0, TimeoutKind::kStartToClose), "1m5s");
}

TEST(StartOfACall, ChangesNothingWithoutATimeout) {
  MailCalls calls("");
  EXPECT_FALSE(calls.start(0, seconds(5)).changed) << "nothing has to be stored";
  EXPECT_FALSE(calls.instance.calls.at(0).started);
  EXPECT_EQ(calls.due(), "");
}

}  // namespace
}  // namespace millrace
