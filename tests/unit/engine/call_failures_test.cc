// Failed attempts of calls: what an instance keeps of the last failure, whose retry policy applies,
// and when the next attempt is due.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/engine/engine.h"
#include "tests/tables/instance_run.h"
#include "tests/unit/engine/new_instance.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

/// A lookup for a namespace whose retry policy makes two attempts with a wait of 10 seconds.
class TwoAttempts final : public TestLookup {
 public:
  const RetryPolicy* default_retries(NamespaceNumber) const override { return &policy_; }

 private:
  const RetryPolicy policy_{.attempts = 2, .delay = *Span::parse("10s")};
};

/// A lookup with a secret whose row is damaged.
class DamagedSecret final : public TestLookup {
 public:
  Result<std::optional<std::string>> secret(NamespaceNumber, std::string_view) const override {
    return fail("store.damaged", "the row of the secret is damaged");
  }
};

/// A workflow that calls a function for each element of `.all`; `keys` are further keys of the
/// action.
std::shared_ptr<const Workflow> calling_mail(const std::string& keys) {
  return load_right_workflow(R"(
id: w
functions: [{id: f, type: knative-namespace, service: mail}]
states:
- {id: call, type: foreach, array: jq(.all), action: {function: f)" +
                             keys + "}}\n");
}

/// An instance that makes two calls.
Instance mail_caller(const Workflow& workflow) {
  return new_instance(workflow, Json{{"all", {1, 2}}});
}

/// Fails the first attempt of call 0, after one second.
void fail_first(const Workflow& workflow, Instance& instance, const Lookup& lookup,
                const std::string& message, std::optional<Duration> retry_after = std::nullopt) {
  step(workflow, instance, Proceed{}, run_start(), lookup);
  step(workflow, instance,
       Returned{.call = {.instance = instance.id, .entered = instance.entered, .attempt = 1},
                .result = tl::unexpected(Error{"mail.down", message}),
                .retry_after = retry_after},
       run_start() + seconds(1), lookup);
}

TEST(CallFailures, AreKeptUntilTheCallSucceeds) {
  const auto workflow = calling_mail("");
  const TwoAttempts lookup;
  Instance instance = mail_caller(*workflow);
  fail_first(*workflow, instance, lookup, std::string(3 * kMostCallFailureBytes, 'x'));
  ASSERT_EQ(instance.calls.size(), 2u);
  const std::optional<CallFailure> kept = instance.calls[0].last_error;
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->error.code, "mail.down");
  EXPECT_EQ(kept->error.message, std::string(kMostCallFailureBytes, 'x') + "...");
  EXPECT_EQ(kept->at, run_start() + seconds(1));
  EXPECT_FALSE(instance.calls[1].last_error);

  ASSERT_EQ(instance.calls[0].retry_at, run_start() + seconds(11));
  step(*workflow, instance, Fired{TimerKind::kCalls, run_start() + seconds(11)},
       run_start() + seconds(11), lookup);
  EXPECT_EQ(instance.calls[0].attempt, 2u);
  EXPECT_EQ(instance.calls[0].last_error, kept) << "the second attempt runs";
  step(*workflow, instance,
       Returned{.call = {.instance = instance.id, .entered = instance.entered, .attempt = 2},
                .result = LazyJson(Json(1))},
       run_start() + seconds(12), lookup);
  EXPECT_EQ(instance.calls[0].status, Call::Status::kDone);
  EXPECT_FALSE(instance.calls[0].last_error);
}

TEST(CallFailures, LeaveTheProgressToTheNextAttemptUntilTheCallSucceeds) {
  const auto workflow = calling_mail("");
  const TwoAttempts lookup;
  Instance instance = mail_caller(*workflow);
  step(*workflow, instance, Proceed{}, run_start(), lookup);
  const Caller first{.instance = instance.id, .entered = instance.entered, .attempt = 1};
  const StepResult noted = step(*workflow, instance, Progressed{.call = first, .json = "[3]"},
                                run_start() + seconds(1), lookup);
  EXPECT_TRUE(noted.changed);
  EXPECT_EQ(noted.only_call, 0u);
  EXPECT_TRUE(noted.history.empty()) << "the history does not have each heartbeat";
  const CallProgress expected{.json = "[3]", .at = run_start() + seconds(1)};
  EXPECT_EQ(instance.calls[0].progress, expected);
  EXPECT_FALSE(instance.calls[1].progress);
  step(*workflow, instance,
       Returned{.call = first, .result = tl::unexpected(Error{"mail.down", "no"})},
       run_start() + seconds(1), lookup);
  const StepResult again =
      step(*workflow, instance, Fired{TimerKind::kCalls, run_start() + seconds(11)},
           run_start() + seconds(11), lookup);
  ASSERT_EQ(again.effects.size(), 1u);
  EXPECT_EQ(std::get<StartTask>(again.effects[0]).progress, "[3]");
  Caller second = first;
  second.attempt = 2;
  EXPECT_FALSE(step(*workflow, instance, Progressed{.call = first, .json = "[4]"},
                    run_start() + seconds(12), lookup)
                   .changed)
      << "the first attempt has ended";
  step(*workflow, instance, Returned{.call = second, .result = LazyJson(Json(1))},
       run_start() + seconds(12), lookup);
  EXPECT_FALSE(instance.calls[0].progress);
}

TEST(CallFailures, AreRetriedByThePolicyOfTheNamespaceIfTheActionHasNone) {
  const struct {
    const char* keys;
    InstanceStatus status;
  } rows[] = {
      {"", InstanceStatus::kWaiting},
      {", retries: {maximumAttempts: 1}", InstanceStatus::kFailed},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.keys);
    const auto workflow = calling_mail(row.keys);
    Instance instance = mail_caller(*workflow);
    fail_first(*workflow, instance, TwoAttempts(), "no");
    EXPECT_EQ(instance.status, row.status);
    Instance without = mail_caller(*workflow);
    fail_first(*workflow, without, TestLookup(), "no");
    EXPECT_EQ(without.status, InstanceStatus::kFailed) << "one attempt is the default";
  }
}

TEST(CallFailures, AreRetriedAfterTheWaitThatTheServiceAsksForIfItIsLonger) {
  const auto workflow = calling_mail("");
  const struct {
    std::optional<Duration> retry_after;
    TimePoint expected;
  } rows[] = {
      {std::nullopt, run_start() + seconds(11)},
      {seconds(3), run_start() + seconds(11)},
      {minutes(1), run_start() + seconds(61)},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(shown_time(row.expected));
    Instance instance = mail_caller(*workflow);
    fail_first(*workflow, instance, TwoAttempts(), "no", row.retry_after);
    ASSERT_EQ(instance.calls.size(), 2u);
    EXPECT_EQ(instance.calls[0].retry_at, row.expected);
  }
}

TEST(DamagedSecrets, FailAnActionBeforeItCallsAnything) {
  const auto workflow = load_right_workflow(R"(
id: w
functions: [{id: f, type: knative-namespace, service: mail}]
states: [{id: call, type: action, action: {function: f, secrets: [token]}}]
)");
  Instance instance = new_instance(*workflow);
  const StepResult result = step(*workflow, instance, Proceed{}, run_start(), DamagedSecret());
  EXPECT_EQ(instance.status, InstanceStatus::kFailed);
  ASSERT_TRUE(instance.error);
  EXPECT_EQ(instance.error->code, kDamagedStore);
  EXPECT_EQ(instance.error->message, "the row of the secret is damaged");
  EXPECT_TRUE(result.effects.empty());
}

/// A lookup in which the rows of variables and of instances are damaged.
class DamagedRows final : public TestLookup {
 public:
  Result<std::optional<Variable>> variable(const VariableName&) const override {
    return fail("store.damaged", "the row of the variable is damaged");
  }
  Result<LazyJson> start_event(const Instance&) const override {
    return fail("store.damaged", "the row of the instance is damaged");
  }
};

TEST(DamagedRows, FailTheStateThatReadsThem) {
  const std::pair<const char*, const char*> rows[] = {
      {"{id: get, type: getter, variables: [{key: x, scope: workflow}]}",
       "the row of the variable is damaged"},
      {"{id: see, type: noop, transform: 'jq($instance.event)'}",
       "the row of the instance is damaged"},
  };
  for (const auto& [state, message] : rows) {
    SCOPED_TRACE(state);
    const auto workflow = load_right_workflow(fmt::format("id: w\nstates: [{}]\n", state));
    Instance instance = new_instance(*workflow);
    step(*workflow, instance, Proceed{}, run_start(), DamagedRows());
    EXPECT_EQ(instance.status, InstanceStatus::kFailed);
    ASSERT_TRUE(instance.error);
    EXPECT_EQ(instance.error->code, kDamagedStore);
    EXPECT_EQ(instance.error->message, message);
  }
}

/// A lookup for a namespace in which no variable may get a value.
class FullNamespace final : public TestLookup {
 public:
  std::optional<Error> refusal_of_variable(const VariableName&, size_t) const override {
    return Error{"millrace.quota.storeBytes", "the namespace is full"};
  }
};

TEST(FullNamespace, LetsASetterDeleteAVariable) {
  for (const bool deletes : {false, true}) {
    SCOPED_TRACE(deletes);
    const auto workflow = load_right_workflow(fmt::format(
        "id: w\nstates: [{{id: s, type: setter, variables: [{{key: x, scope: workflow, value: "
        "{}}}]}}]\n",
        deletes ? "null" : "1"));
    Instance instance = new_instance(*workflow);
    const StepResult result = step(*workflow, instance, Proceed{}, run_start(), FullNamespace());
    EXPECT_EQ(instance.error ? instance.error->code : "",
              deletes ? "" : "millrace.quota.storeBytes");
    EXPECT_EQ(result.effects.empty(), !deletes);
  }
}

}  // namespace
}  // namespace millrace
