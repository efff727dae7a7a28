// How the loader reads `concurrency`, `throttle` and `priority`.
#include "orchestrator/definition/flow_control.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/definition/loader.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Loaded loaded_with(const std::string& keys) {
  return load_workflow("id: w\n" + keys + "\nstates:\n- {id: a, type: noop}\n", nullptr);
}

/// The path and the code of each error.
std::vector<std::string> flow_errors(const std::string& keys) {
  std::vector<std::string> errors;
  for (const Finding& one : loaded_with(keys).findings.sorted()) {
    if (one.severity == Severity::kError) errors.push_back(one.path + " " + one.code);
  }
  return errors;
}

TEST(LoadedFlowControl, HasAllKeys) {
  const Loaded loaded = loaded_with(
      "concurrency: {limit: 3, key: jq(.customer), onLimit: replace, timeout: PT5M}\n"
      "priority: jq(.rank // 0)");
  ASSERT_NE(loaded.workflow, nullptr) << render_text(loaded.findings, "f");
  const auto& concurrency = loaded.workflow->concurrency;
  ASSERT_TRUE(concurrency);
  EXPECT_EQ(concurrency->limit, 3U);
  EXPECT_TRUE(concurrency->key);
  EXPECT_EQ(concurrency->on_limit, Concurrency::OnLimit::kReplace);
  ASSERT_TRUE(concurrency->timeout);
  EXPECT_EQ(concurrency->timeout->fixed, std::chrono::minutes(5));
  EXPECT_TRUE(loaded.workflow->priority);
}

TEST(LoadedFlowControl, QueuesByDefault) {
  const Loaded loaded = loaded_with("concurrency: {limit: 1}");
  ASSERT_NE(loaded.workflow, nullptr) << render_text(loaded.findings, "f");
  EXPECT_EQ(loaded.workflow->concurrency->on_limit, Concurrency::OnLimit::kQueue);
  EXPECT_FALSE(loaded.workflow->concurrency->key);
  EXPECT_FALSE(loaded.workflow->concurrency->timeout);
  EXPECT_FALSE(loaded.workflow->priority);
  EXPECT_FALSE(loaded_with("name: x").workflow->concurrency);
}

TEST(LoadedFlowControl, ReportsMistakes) {
  EXPECT_THAT(flow_errors("concurrency: {limit: 0}"),
              ElementsAre("concurrency.limit definition.value"));
  EXPECT_THAT(flow_errors("concurrency: {key: jq(.a)}"),
              ElementsAre("concurrency.limit definition.missing"));
  EXPECT_THAT(flow_errors("concurrency: {limit: 1, onLimit: wait}"),
              ElementsAre("concurrency.onLimit definition.value"));
  EXPECT_THAT(flow_errors("singular: true\nconcurrency: {limit: 1}"),
              ElementsAre("concurrency definition.both_keys"));
}

TEST(LoadedFlowControl, HasAThrottle) {
  const Loaded loaded =
      loaded_with("throttle: {limit: 10, period: PT1M, key: jq(.customer), timeout: PT5M}");
  ASSERT_NE(loaded.workflow, nullptr) << render_text(loaded.findings, "f");
  const auto& throttle = loaded.workflow->throttle;
  ASSERT_TRUE(throttle);
  EXPECT_EQ(throttle->rate.limit, 10U);
  EXPECT_EQ(throttle->rate.period.fixed, std::chrono::minutes(1));
  EXPECT_TRUE(throttle->rate.key);
  ASSERT_TRUE(throttle->timeout);
  EXPECT_EQ(throttle->timeout->fixed, std::chrono::minutes(5));
  EXPECT_FALSE(loaded_with("throttle: {limit: 1, period: 1h}").workflow->throttle->timeout);
  EXPECT_FALSE(loaded_with("name: x").workflow->throttle);
}

TEST(LoadedFlowControl, ReportsMistakesOfAThrottle) {
  EXPECT_THAT(flow_errors("throttle: {limit: 0, period: PT1M}"),
              ElementsAre("throttle.limit definition.value"));
  EXPECT_THAT(flow_errors("throttle: {period: PT1M}"),
              ElementsAre("throttle.limit definition.missing"));
  EXPECT_THAT(flow_errors("throttle: {limit: 1}"),
              ElementsAre("throttle.period definition.missing"));
  EXPECT_THAT(flow_errors("throttle: {limit: 1, period: PT1M, onLimit: skip}"),
              ElementsAre("throttle.onLimit definition.unknown_key"));
  EXPECT_THAT(flow_errors("throttle: {limit: 1, period: PT1M, key: jq(.a | ascii_downcase)}"),
              ElementsAre("throttle.key definition.query"));
}

TEST(LoadedFlowControl, RefusesQueriesThatTheEngineCannotEvaluateAtOnce) {
  EXPECT_THAT(flow_errors("concurrency: {limit: 1, key: jq(.a | ascii_downcase)}"),
              ElementsAre("concurrency.key definition.query"));
  EXPECT_THAT(flow_errors("priority: jq($instance.id)"), ElementsAre("priority definition.query"));
}

/// A workflow with one call; `keys` are those of its function and of its action.
Loaded loaded_call(const std::string& of_function, const std::string& of_action = "") {
  return load_workflow("id: w\nfunctions: [{id: f, " + of_function +
                           "}]\nstates:\n- {id: a, type: action, action: {function: f" + of_action +
                           "}}\n",
                       nullptr);
}

std::vector<std::string> call_errors(const std::string& of_function,
                                     const std::string& of_action = "") {
  std::vector<std::string> errors;
  for (const Finding& one : loaded_call(of_function, of_action).findings.sorted()) {
    if (one.severity == Severity::kError) errors.push_back(one.path + " " + one.code);
  }
  return errors;
}

constexpr const char* kBank = "type: service, service: bank";

TEST(LoadedCallFlow, IsAKeyOfFunctionsAndActions) {
  const std::string keys =
      ", concurrency: {limit: 3, key: jq(.customer), timeout: PT5M}, priority: jq(.rank)";
  EXPECT_THAT(call_errors(kBank + keys), IsEmpty());
  EXPECT_THAT(call_errors("type: container, image: busybox" + keys), IsEmpty());
  EXPECT_THAT(call_errors("type: container-pool, image: busybox" + keys), IsEmpty());
  EXPECT_THAT(call_errors("type: knative-global, service: bank" + keys), IsEmpty());
  EXPECT_THAT(call_errors(kBank, keys), IsEmpty());
}

TEST(LoadedCallFlow, AcceptsAThrottleOfEachKindOfFunctionAndOfActions) {
  const std::string keys = ", throttle: {limit: 3, period: PT1M, key: jq(.customer)}";
  for (const char* const function :
       {kBank, "type: container, image: busybox", "type: container-pool, image: busybox",
        "type: knative-global, service: bank", "type: knative-namespace, service: bank"}) {
    EXPECT_THAT(call_errors(function + keys), IsEmpty()) << function;
  }
  EXPECT_THAT(call_errors(kBank, keys), IsEmpty());
}

TEST(LoadedCallFlow, ReportsMistakesOfAThrottle) {
  const auto errors = [](const std::string& throttle) {
    return call_errors(kBank, ", throttle: " + throttle);
  };
  EXPECT_THAT(errors("{limit: 0, period: PT1M}"),
              ElementsAre("states[0].action.throttle.limit definition.value"));
  EXPECT_THAT(errors("{period: PT1M}"),
              ElementsAre("states[0].action.throttle.limit definition.missing"));
  EXPECT_THAT(errors("{limit: 1}"),
              ElementsAre("states[0].action.throttle.period definition.missing"));
  EXPECT_THAT(errors("{limit: 1, period: PT1M, onLimit: skip}"),
              ElementsAre("states[0].action.throttle.onLimit definition.unknown_key"));
  EXPECT_THAT(errors("{limit: 1, period: PT1M, key: jq(.a | ascii_downcase)}"),
              ElementsAre("states[0].action.throttle.key definition.query"));
  EXPECT_THAT(errors("{limit: 1, period: PT1M, key: jq($instance.id)}"),
              ElementsAre("states[0].action.throttle.key definition.query"));
}

TEST(LoadedCallFlow, IsNoKeyForSubflows) {
  const std::string subflow = "type: subflow, workflow: other";
  EXPECT_THAT(call_errors(subflow, ", concurrency: {limit: 1}"),
              ElementsAre("states[0].action.concurrency definition.not_here"));
  EXPECT_THAT(call_errors(subflow, ", throttle: {limit: 1, period: PT1M}"),
              ElementsAre("states[0].action.throttle definition.not_here"));
  EXPECT_THAT(call_errors(subflow, ", priority: jq(.rank)"),
              ElementsAre("states[0].action.priority definition.not_here"));
  EXPECT_THAT(call_errors(subflow + ", concurrency: {limit: 1}"),
              ElementsAre("functions[0].concurrency definition.unknown_key"));
  EXPECT_THAT(call_errors(subflow + ", throttle: {limit: 1, period: PT1M}"),
              ElementsAre("functions[0].throttle definition.unknown_key"));
  EXPECT_THAT(call_errors(subflow + ", priority: jq(.rank)"),
              ElementsAre("functions[0].priority definition.unknown_key"));
}

TEST(LoadedCallFlow, ReportsMistakes) {
  EXPECT_THAT(call_errors(std::string(kBank) + ", concurrency: {limit: 0}"),
              ElementsAre("functions[0].concurrency.limit definition.value"));
  EXPECT_THAT(call_errors(kBank, ", concurrency: {key: jq(.a)}"),
              ElementsAre("states[0].action.concurrency.limit definition.missing"));
  EXPECT_THAT(call_errors(kBank, ", concurrency: {limit: 1, key: jq(.a | ascii_downcase)}"),
              ElementsAre("states[0].action.concurrency.key definition.query"));
  EXPECT_THAT(call_errors(kBank, ", concurrency: {limit: 1, timeout: soon}"),
              ElementsAre("states[0].action.concurrency.timeout duration.malformed"));
  EXPECT_THAT(call_errors(kBank, ", priority: jq($instance.id)"),
              ElementsAre("states[0].action.priority definition.query"));
}

}  // namespace
}  // namespace millrace
