// Settings of services in a namespace: URLs, retries and timeouts of their calls.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/charge_order.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::SizeIs;

TEST(ServiceSettings, SetTheUrlOfAService) {
  World world;
  world.must(CreateNamespace{
      .name = "default",
      .settings = Json::parse(R"({"services": {"charge": {"url": "http://127.0.0.1:9/pay"}}})")});
  world.apply(order());
  world.start_order();
  world.restart();
  world.start("order");
  world.run_until_idle();
  ASSERT_THAT(world.functions.tasks(), SizeIs(2));
  for (const Task& task : world.functions.tasks()) {
    EXPECT_EQ(task.target, TaskTarget(HttpService{"http://127.0.0.1:9/pay"}));
  }
}

TEST(ServiceSettings, AreRefusedWithTheirPlaceWhenTheyAreInvalid) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {R"({"url": "ftp://x"})", "services.a.url: "},
      {R"({"url": 3})", "services.a.url: "},
      {R"({})", "services.a: write"},
      {R"({"url": "http://x", "queue": "millrace.tasks.x"})", "services.a: write"},
      {R"({"url": "http://x", "uri": "http://x"})", "services.a.uri: unknown key"},
      {R"({"url": "http://x", "retries": {"maxAttempts": 2}})", "services.a: retries: "},
      {R"j({"url": "http://x", "retries": "fixed(3)"})j", "services.a: retries: "},
      {R"({"url": "http://x", "maxRuntime": "soon"})", "services.a: maxRuntime: "},
      {R"({"url": "http://x", "maxRuntime": "1h", "startToCloseTimeout": "1h"})",
       "services.a: maxRuntime: "},
      {R"({"url": "http://x", "heartbeatTimeout": "1s"})", "services.a: heartbeatTimeout: with a"},
      {R"({"url": "http://x", "timeout_scope": "global"})", "services.a: timeout_scope: "},
  };
  World world;
  for (const auto& [service, message] : rows) {
    const Json settings = {{"services", {{"a", Json::parse(service)}}}};
    const Answered answer = world.command(CreateNamespace{.name = "default", .settings = settings});
    world.run_until_idle();
    ASSERT_FALSE((**answer).has_value()) << service;
    EXPECT_EQ((**answer).error().code, "settings.invalid");
    EXPECT_THAT((**answer).error().message, testing::StartsWith(message)) << service;
  }
}

/// Sets the settings of the namespace: the service `charge`, and the settings in `others`.
void set_service(World& world, std::string_view service, std::string_view others = "") {
  world.must(CreateNamespace{.name = "default",
                             .settings = Json::parse(fmt::format(
                                 R"({{"services": {{"charge": {}}}{}}})", service, others))});
}

/// The number of attempts, within an hour, of an action that always fails.
size_t attempts_of(World& world, const std::string& yaml) {
  world.apply(yaml);
  const size_t before = world.functions.tasks().size();
  world.start_order();
  for (size_t i = before; i < world.functions.tasks().size() && i < before + 20; ++i) {
    fail(world, world.functions.tasks()[i].id, "down");
    world.run_for(std::chrono::minutes(1));
  }
  return world.functions.tasks().size() - before;
}

TEST(ServicePolicies, AreReadInEveryVocabulary) {
  const std::vector<std::pair<std::string_view, size_t>> rows = {
      {R"({"retries": {"max_attempts": 3, "codes": ["*"]}})", 4},
      {R"({"retries": {"vocabulary": "steep", "maxAttempts": 3}})", 3},
      {R"({"retries": {"maxAttempts": 3, "exponentialBackoff": 2}, "maxRuntime": "5m"})", 3},
      {R"({"retries": {"vocabulary": "steep", "maxAttempts": 0}})", 0},
      {R"({"retries": {"maximumAttempts": 3}})", 3},
      {R"({"retry": {"maxAttempts": 2, "backoffMs": 100}})", 2},
      {R"j({"retries": "fixed(3, 1s)"})j", 3},
      {R"({"url": "http://a"})", 1},
  };
  for (const auto& [service, attempts] : rows) {
    World world;
    set_service(world, service);
    EXPECT_EQ(attempts_of(world, order()), attempts) << service;
  }
}

TEST(ServicePolicies, ApplyUnlessTheActionFunctionOrWorkflowHasAPolicy) {
  World world;
  set_service(world, R"({"retries": {"max_attempts": 3, "codes": ["*"]}})",
              R"(, "defaults": "stevora")");
  EXPECT_EQ(attempts_of(world, order()), 4u)
      << "the policy overrides the defaults of the namespace";
  EXPECT_EQ(attempts_of(world, order(", retries: {max_attempts: 1, codes: ['*']}")), 2u);
  EXPECT_EQ(attempts_of(world, order() + "defaults: direktiv\n"), 1u)
      << "the defaults of the workflow override the policy";
  EXPECT_EQ(attempts_of(world, R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge, retries: 'fixed(5, 1s)'}
states:
- {id: pay, type: action, action: {function: charge}}
)"),
            5u)
      << "the policy of the function overrides that of the service";
  EXPECT_EQ(attempts_of(world, R"(
id: order
functions:
- {id: charge, type: knative-global, service: charge}
states:
- {id: pay, type: action, action: {function: charge}}
)"),
            4u)
      << "the policy applies to a global service";
}

TEST(ServicePolicies, AreOverriddenByTheTimeoutsOfAnActionKeyByKey) {
  World world;
  world.functions.act("charge", {{.takes = std::nullopt}});
  set_service(world, R"({"maxInactivity": {"timeout": "10s", "errorOnTimeout": true},
                         "maxRuntime": {"timeout": "30s", "errorOnTimeout": true}})");
  world.apply(order(", maxInactivity: {timeout: 20s, errorOnTimeout: true}"));
  const std::string id = world.start_order();
  EXPECT_EQ(world.functions.tasks()[0].start_to_close, seconds(30));
  world.run_for(milliseconds(19'999));
  EXPECT_EQ(world.instance(id)["status"], "waiting");
  world.run_for(milliseconds(1));
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.timeout.heartbeat");

  world.apply(order(", maxInactivity: {timeout: 1h, errorOnTimeout: true}"));
  const std::string other = world.start_order();
  world.run_for(seconds(30));
  EXPECT_EQ(world.instance(other)["error"]["code"], "millrace.timeout.startToClose");
}

TEST(ServicePolicies, YieldToATimeoutOfTheActionWithAnotherTimeoutScope) {
  World world;
  world.functions.act("charge", {{.takes = std::nullopt}});
  set_service(world, R"({"timeout": "10s"})");
  world.apply(order(", timeout: 1m, timeout_scope: per_attempt"));
  const std::string id = world.start_order();
  world.run_for(seconds(59));
  EXPECT_EQ(world.instance(id)["status"], "waiting");
  world.run_for(seconds(1));
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.timeout.startToClose");
}

TEST(ServicePolicies, EndARunningCallByATimeoutThatWasRemovedFromThem) {
  World world;
  world.functions.act("charge", {{.takes = std::nullopt}});
  set_service(world, R"({"startToCloseTimeout": "1m", "retries": {"maximumAttempts": 5}})");
  world.apply(order());
  const std::string id = world.start_order();
  set_service(world, R"({"url": "http://a"})");
  world.must(PauseInstance{"default", *parse_instance_id(id)});
  world.must(ResumeInstance{"default", *parse_instance_id(id)});
  world.run_for(seconds(60));
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.timeout.startToClose");
}

TEST(ServicePolicies, LeaveAServiceOfWorkersInItsWorkQueue) {
  World world;
  set_service(world, R"j({"retries": "fixed(2, 1s)"})j");
  world.apply(order());
  world.start_order();
  EXPECT_EQ(world.functions.tasks()[0].target,
            TaskTarget(WorkQueue{"millrace.tasks.default.charge"}));
}

TEST(ServiceSettings, GiveTheDefaultsOfTheNamespaceToCallsWithoutAPolicy) {
  World world;
  world.must(
      CreateNamespace{.name = "default", .settings = Json::parse(R"({"defaults": "stevora"})")});
  world.apply(order());
  const std::string id = world.start_order();
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_THAT(world.functions.tasks(), SizeIs(i + 1));
    fail(world, world.functions.tasks()[i].id, "down");
    world.run_for(seconds(2));
  }
  EXPECT_EQ(world.instance(id)["error"]["msg"], "Step 'pay' failed after 3 attempts: no");
}

TEST(ServiceSettings, DoNotOverrideTheDefaultsOfAWorkflow) {
  World world;
  world.must(
      CreateNamespace{.name = "default", .settings = Json::parse(R"({"defaults": "stevora"})")});
  world.apply(order() + "defaults: direktiv\n");
  const std::string id = world.start_order();
  fail(world, world.functions.tasks()[0].id, "down");
  EXPECT_EQ(world.instance(id)["error"], (Json{{"code", "down"}, {"msg", "no"}}));
}

}  // namespace
}  // namespace millrace
