#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/definition/lint_starts.h"
#include "tests/unit/definition/lint_findings.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string with_keys(const std::string& keys) {
  return "id: a\n" + keys + "\nstates:\n- {id: a, type: noop}\n";
}

std::vector<std::string> never(const std::string& keys) {
  return places_of("lint.concurrency_never", with_keys(keys), {});
}

TEST(LintFlow, PointsOutAKeyThatReadsNothingOfTheInput) {
  const auto places = [](const std::string& key) {
    return places_of("lint.start_key", with_keys("concurrency: {limit: 1" + key + "}"), {});
  };
  EXPECT_THAT(places(""), IsEmpty());
  EXPECT_THAT(places(", key: jq(.customer)"), IsEmpty());
  EXPECT_THAT(places(", key: 'order-jq(.id)'"), IsEmpty());
  EXPECT_THAT(places(", key: jq(5)"), ElementsAre("warning concurrency.key"));
  EXPECT_THAT(places(", key: jq(\"all\")"), ElementsAre("warning concurrency.key"));
}

TEST(LintFlow, PointsOutAPriorityWithoutAQueue) {
  EXPECT_THAT(never("priority: jq(.rank)"), ElementsAre("warning priority"));
  EXPECT_THAT(never("priority: jq(.rank)\nconcurrency: {limit: 1}"), IsEmpty());
  EXPECT_THAT(never("priority: jq(.rank)\nconcurrency: {limit: 1, onLimit: replace}"), IsEmpty());
  EXPECT_THAT(never("priority: jq(.rank)\nconcurrency: {limit: 1, onLimit: skip}"),
              ElementsAre("warning priority"));
}

TEST(LintFlow, AcceptsAPriorityOfThrottledStarts) {
  const std::string throttle = "throttle: {limit: 1, period: PT1M}\n";
  EXPECT_THAT(never(throttle + "priority: jq(.rank)"), IsEmpty());
  EXPECT_THAT(never(throttle + "priority: jq(.rank)\nconcurrency: {limit: 1, onLimit: skip}"),
              IsEmpty());
}

TEST(LintFlow, PointsOutAKeyOfAThrottleThatReadsNothingOfTheInput) {
  const auto places = [](const std::string& key) {
    return places_of("lint.start_key", with_keys("throttle: {limit: 1, period: PT1M" + key + "}"),
                     {});
  };
  EXPECT_THAT(places(""), IsEmpty());
  EXPECT_THAT(places(", key: jq(.customer)"), IsEmpty());
  EXPECT_THAT(places(", key: jq(5)"), ElementsAre("warning throttle.key"));
}

TEST(LintFlow, PointsOutATimeoutOfNoWait) {
  EXPECT_THAT(never("concurrency: {limit: 1, timeout: PT1M}"), IsEmpty());
  EXPECT_THAT(never("concurrency: {limit: 1, timeout: PT1M, onLimit: reject}"),
              ElementsAre("warning concurrency.timeout"));
}

/// A workflow with one call; `keys` are those of its function and of its action.
std::string with_call(const std::string& of_function, const std::string& of_action = "") {
  return "id: a\nfunctions: [{id: f, type: service, service: s" + of_function +
         "}]\nstates:\n- {id: a, type: action, action: {function: f" + of_action + "}}\n";
}

TEST(LintCallFlow, PointsOutAKeyThatReadsNothingOfTheInput) {
  const auto places = [](const std::string& text) { return places_of("lint.call_key", text, {}); };
  EXPECT_THAT(places(with_call(", concurrency: {limit: 1, key: jq(.customer)}")), IsEmpty());
  EXPECT_THAT(places(with_call(", concurrency: {limit: 1, key: jq(5)}")),
              ElementsAre("warning functions[0].concurrency.key"));
  EXPECT_THAT(places(with_call("", ", concurrency: {limit: 1, key: jq(5)}")),
              ElementsAre("warning states[0].action.concurrency.key"));
}

TEST(LintCallFlow, PointsOutAKeyOfAThrottleThatReadsNothingOfTheInput) {
  const auto places = [](const std::string& text) { return places_of("lint.call_key", text, {}); };
  const auto throttle = [](const std::string& key) {
    return ", throttle: {limit: 1, period: PT1M" + key + "}";
  };
  EXPECT_THAT(places(with_call(throttle(""))), IsEmpty());
  EXPECT_THAT(places(with_call(throttle(", key: jq(.customer)"))), IsEmpty());
  EXPECT_THAT(places(with_call(throttle(", key: jq(5)"))),
              ElementsAre("warning functions[0].throttle.key"));
  EXPECT_THAT(places(with_call("", throttle(", key: jq(5)"))),
              ElementsAre("warning states[0].action.throttle.key"));
}

TEST(LintCallFlow, PointsOutAPriorityWithoutALimit) {
  const auto places = [](const std::string& text) {
    return places_of("lint.concurrency_never", text, {});
  };
  EXPECT_THAT(places(with_call(", priority: jq(.rank)")),
              ElementsAre("warning functions[0].priority"));
  EXPECT_THAT(places(with_call("", ", priority: jq(.rank)")),
              ElementsAre("warning states[0].action.priority"));
  EXPECT_THAT(places(with_call(", concurrency: {limit: 1}", ", priority: jq(.rank)")), IsEmpty());
  EXPECT_THAT(places(with_call(", priority: jq(.rank)", ", concurrency: {limit: 1}")), IsEmpty());
  const std::string throttle = ", throttle: {limit: 1, period: PT1M}";
  EXPECT_THAT(places(with_call(throttle, ", priority: jq(.rank)")), IsEmpty());
  EXPECT_THAT(places(with_call(", priority: jq(.rank)", throttle)), IsEmpty());
}

}  // namespace
}  // namespace millrace
