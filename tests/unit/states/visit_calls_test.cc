// Visit: what a call of a task or a subflow begins with, over its attempts, and the limit on chains
// of detached subflows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/hops.h"
#include "states/slot_values.h"
#include "states/visit.h"
#include "tests/tables/instance_run.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::SizeIs;

const Function kService{.id = "f", .runs = NamedService{.name = "mail"}};
const Function kSubflow{.id = "f", .runs = Subflow{.workflow = "other"}};

/// A policy with all four timeouts, and with this many attempts.
ActionPolicy policy_of(uint32_t attempts) {
  ActionPolicy policy{.retries = RetryPolicy{.attempts = attempts}};
  policy.timeouts[TimeoutKind::kScheduleToClose] = Timeout{.span = *Span::parse("1h")};
  policy.timeouts[TimeoutKind::kStartToClose] = Timeout{.span = *Span::parse("20m")};
  policy.timeouts[TimeoutKind::kHeartbeat] = Timeout{.span = *Span::parse("9s")};
  policy.timeouts[TimeoutKind::kScheduleToStart] = Timeout{.span = *Span::parse("30s")};
  return policy;
}

/// An instance with one call, which has the input 7.
struct OneCall {
  Instance instance{.calls = {Call{.input = LazyJson(Json(7))}}};
  TestLookup lookup;
  std::vector<Effect> earlier;

  /// Starts the next attempt, at this time after the start. Returns its effect.
  Effect start(const Function& function, const ActionPolicy& policy, Duration after = Duration(0)) {
    Visit visit(instance, run_start() + after, {}, lookup, earlier);
    visit.start_call(0, function, policy);
    std::vector<Effect> effects = visit.take_effects();
    EXPECT_THAT(effects, SizeIs(1));
    return effects.at(0);
  }
  std::string deadline(TimeoutKind kind) const {
    const auto& deadline = instance.calls.at(0).deadlines[static_cast<size_t>(kind)];
    return deadline ? shown_time(*deadline) : "";
  }
};

TEST(VisitCalls, GiveATaskItsTimeouts) {
  OneCall one;
  const auto task = std::get<StartTask>(one.start(kService, policy_of(2)));
  EXPECT_EQ(task.heartbeat, seconds(9));
  EXPECT_EQ(task.start_to_close, minutes(20));
  EXPECT_EQ(task.deadline, run_start() + hours(1));
  EXPECT_EQ(task.input.text(), "7");
  EXPECT_EQ(task.attempt, 1u);
  ASSERT_TRUE(task.caller);
  EXPECT_EQ(task.caller->attempt, 1u);
  EXPECT_EQ(one.deadline(TimeoutKind::kScheduleToStart), "30s");
  EXPECT_EQ(one.deadline(TimeoutKind::kStartToClose), "") << "no worker has started the task";
  EXPECT_EQ(one.deadline(TimeoutKind::kHeartbeat), "") << "the runner counts the heartbeats";
  one.instance.timers = {{TimerKind::kKill, run_start() + minutes(10)}};
  EXPECT_EQ(std::get<StartTask>(one.start(kService, policy_of(2))).deadline,
            run_start() + minutes(10));
}

TEST(VisitCalls, BeginTheTimeoutsOfASubflowAtOnce) {
  OneCall one;
  one.instance.depth = 2;
  one.instance.hops = 5;
  const auto child = std::get<StartChild>(one.start(kSubflow, policy_of(2)));
  EXPECT_EQ(child.depth, 3u);
  EXPECT_EQ(child.hops, 5u) << "a call is no hop";
  EXPECT_EQ(one.deadline(TimeoutKind::kScheduleToStart), "");
  EXPECT_EQ(one.deadline(TimeoutKind::kStartToClose), "20m");
  EXPECT_EQ(one.deadline(TimeoutKind::kHeartbeat), "9s");
}

TEST(VisitCalls, CountTheScheduleToCloseTimeoutFromTheFirstAttempt) {
  for (const bool is_retried : {false, true}) {
    SCOPED_TRACE(is_retried);
    OneCall one;
    one.instance.retried = is_retried;
    one.start(kService, policy_of(3));
    EXPECT_EQ(one.deadline(TimeoutKind::kScheduleToClose), "1h");
    Visit visit(one.instance, run_start() + minutes(5), {}, one.lookup, one.earlier);
    visit.retry_call(0, run_start() + minutes(10));
    EXPECT_EQ(one.deadline(TimeoutKind::kScheduleToClose), is_retried ? "" : "1h");
    EXPECT_EQ(one.deadline(TimeoutKind::kScheduleToStart), "");
    one.start(kService, policy_of(3), minutes(10));
    EXPECT_EQ(one.deadline(TimeoutKind::kScheduleToClose), is_retried ? "1h10m" : "1h")
        << "after a retry by an operator each attempt has a timeout of its own";
    EXPECT_EQ(one.deadline(TimeoutKind::kScheduleToStart), "10m30s");
    EXPECT_EQ(one.instance.calls[0].first_at, run_start());
  }
}

TEST(VisitCalls, KeepTheInputWhileAnotherAttemptMayNeedIt) {
  OneCall one;
  for (const uint32_t attempt : {1u, 2u}) {
    EXPECT_EQ(std::get<StartTask>(one.start(kService, policy_of(3))).attempt, attempt);
    EXPECT_EQ(one.instance.calls[0].input.text(), "7");
  }
  EXPECT_EQ(std::get<StartTask>(one.start(kService, policy_of(3))).input.text(), "7");
  EXPECT_TRUE(one.instance.calls[0].input.is_null()) << "three attempts are the most";
  OneCall other;
  other.start(kService, ActionPolicy{});
  EXPECT_TRUE(other.instance.calls[0].input.is_null()) << "there is no policy";
}

TEST(VisitCalls, LimitAChainOfDetachedSubflowsAndNotOfTasks) {
  for (const uint32_t hops : {kMaxHops - 1, kMaxHops}) {
    SCOPED_TRACE(hops);
    OneCall one;
    one.instance.hops = hops;
    one.instance.depth = kMaxDepth;
    Visit visit(one.instance, run_start(), {}, one.lookup, one.earlier);
    const auto raised = visit.start_detached(kSubflow, Call{.input = LazyJson(Json(7))});
    EXPECT_EQ(raised.has_value(), hops == kMaxHops);
    EXPECT_EQ(raised ? raised->error.code : "", hops == kMaxHops ? "direktiv.limits.depth" : "");
    EXPECT_FALSE(visit.start_detached(kService, Call{.input = LazyJson(Json(8))}));
    const std::vector<Effect> effects = visit.take_effects();
    const auto& task = std::get<StartTask>(effects.back());
    EXPECT_FALSE(task.caller) << "no call waits for the result";
    EXPECT_EQ(task.attempt, 1u);
    ASSERT_THAT(effects, SizeIs(raised ? 1 : 2));
    if (raised) continue;
    const auto& child = std::get<StartChild>(effects.front());
    EXPECT_EQ(child.hops, kMaxHops);
    EXPECT_EQ(child.depth, 0u) << "a detached subflow is not nested";
    EXPECT_FALSE(child.caller);
    EXPECT_NE(child.child, task.task);
  }
}

/// The task of a call with that flow control, whose input is this one.
StartTask task_with(const CallFlow& flow, const Json& input) {
  OneCall one;
  one.instance.calls[0].input = LazyJson(input);
  Visit visit(one.instance, run_start(), {}, one.lookup, one.earlier);
  visit.start_call(0, kService, ActionPolicy{}, flow);
  std::vector<Effect> effects = visit.take_effects();
  return std::get<StartTask>(effects.at(0));
}

TEST(VisitCalls, EvaluateTheSlotOfATask) {
  CallFlow flow;
  EXPECT_FALSE(task_with(flow, Json::object()).slot);
  flow.concurrency = CallConcurrency{.limit = 3};
  const StartTask plain = task_with(flow, Json::object());
  ASSERT_TRUE(plain.slot);
  EXPECT_EQ(plain.slot->limit, 3U);
  EXPECT_EQ(plain.slot->key, "");
  EXPECT_EQ(plain.slot->priority, 0);
  EXPECT_FALSE(plain.slot->timeout);
  EXPECT_EQ(plain.created, run_start());
  flow.concurrency->timeout = Span::parse("1h").value();
  flow.concurrency->key = Template::query("jq(.customer)").value();
  flow.priority = Template::query("jq(.rank)").value();
  const StartTask task = task_with(flow, {{"customer", "c-1"}, {"rank", -2}});
  ASSERT_TRUE(task.slot);
  EXPECT_EQ(task.slot->key, "\"c-1\"");
  EXPECT_EQ(task.slot->priority, -2);
  ASSERT_TRUE(task.slot->timeout);
  EXPECT_EQ(task.slot->timeout->text, "1h");
  EXPECT_FALSE(task.refused);
  const StartTask long_key = task_with(flow, {{"customer", std::string(600, 'x')}, {"rank", 1}});
  ASSERT_TRUE(long_key.refused);
  EXPECT_EQ(long_key.refused->code, "millrace.concurrency.key");
  const StartTask without_rank = task_with(flow, {{"customer", 5}});
  ASSERT_TRUE(without_rank.refused);
  EXPECT_EQ(without_rank.refused->code, "millrace.concurrency.priority");
}

TEST(VisitCalls, EvaluateTheThrottleOfATask) {
  CallFlow flow;
  flow.throttle.emplace();
  flow.throttle->rate.limit = 5;
  flow.throttle->rate.period = Span::parse("PT1M").value();
  const StartTask plain = task_with(flow, Json::object());
  ASSERT_TRUE(plain.throttle);
  EXPECT_FALSE(plain.slot);
  EXPECT_EQ(plain.throttle->rate.limit, 5U);
  EXPECT_EQ(plain.throttle->rate.period.text, "PT1M");
  EXPECT_FALSE(plain.throttle->timeout);
  EXPECT_EQ(plain.throttle->key, "");
  EXPECT_EQ(plain.throttle->priority, 0);
  EXPECT_EQ(plain.created, run_start());
  flow.throttle->rate.key = Template::query("jq(.customer)").value();
  flow.throttle->timeout = Span::parse("1h").value();
  flow.concurrency = CallConcurrency{.limit = 3};
  flow.priority = Template::query("jq(.rank)").value();
  const StartTask task = task_with(flow, {{"customer", "c-1"}, {"rank", 7}});
  ASSERT_TRUE(task.throttle);
  ASSERT_TRUE(task.slot);
  EXPECT_EQ(task.throttle->key, "\"c-1\"");
  EXPECT_EQ(task.throttle->priority, 7);
  EXPECT_EQ(task.slot->priority, 7);
  ASSERT_TRUE(task.throttle->timeout);
  EXPECT_EQ(task.throttle->timeout->text, "1h");
  const StartTask long_key = task_with(flow, {{"customer", std::string(600, 'x')}, {"rank", 1}});
  ASSERT_TRUE(long_key.refused);
  EXPECT_EQ(long_key.refused->code, "millrace.throttle.key");
}

TEST(VisitCalls, KeepTheFirstErrorOfTheLimitsOfATask) {
  CallFlow flow;
  flow.concurrency = CallConcurrency{.limit = 3};
  flow.concurrency->key = Template::query("jq(.customer)").value();
  flow.throttle.emplace();
  flow.throttle->rate.limit = 5;
  flow.throttle->rate.key = Template::query("jq(.customer)").value();
  const StartTask task = task_with(flow, {{"customer", std::string(600, 'x')}});
  ASSERT_TRUE(task.refused);
  EXPECT_EQ(task.refused->code, "millrace.concurrency.key");
  EXPECT_FALSE(task.throttle) << "no other limit is evaluated";
}

TEST(VisitCalls, DoNotRetryAnErrorOfALimit) {
  for (const char* const code :
       {"millrace.concurrency.key", "millrace.throttle.key", "millrace.concurrency.priority"}) {
    EXPECT_TRUE(is_call_flow_error(code)) << code;
  }
  EXPECT_FALSE(is_call_flow_error("millrace.concurrency.timeout"));
}

}  // namespace
}  // namespace millrace
