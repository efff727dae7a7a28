#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
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

std::vector<std::string> start_keys(const std::string& keys) {
  return places_of("lint.start_key", with_keys(keys), {});
}

TEST(LintFlow, PointsOutAKeyThatTheDataOfAnEventDoesNotHave) {
  const auto places = [](const std::string& key) {
    return start_keys("start: {type: event, event: {type: cart.left}}\n" +
                      ("rateLimit: {limit: 1, period: PT1H, key: " + key) + "}");
  };
  EXPECT_THAT(places("jq(.customer)"), ElementsAre("warning rateLimit.key"));
  EXPECT_THAT(places("'[jq(.customer), jq(.region)]'"), ElementsAre("warning rateLimit.key"));
  for (const char* const key :
       {"'jq(.[\"cart.left\"].customer)'", "'jq(.customer // .[\"cart.left\"].customer)'", "jq(.)",
        "jq(.cart.left.customer)"}) {
    EXPECT_THAT(places(key), IsEmpty()) << key;
  }
}

TEST(LintFlow, PointsOutAKeyOrAPriorityThatTheDataOfABatchDoesNotHave) {
  const std::string batch = "batch: {maxSize: 5, timeout: PT1M, key: jq(.customer)}\n";
  EXPECT_THAT(start_keys(batch + "priority: jq(.rank // 0)\n"
                                 "concurrency: {limit: 1, key: jq(.customer)}"),
              ElementsAre("warning priority", "warning concurrency.key"));
  EXPECT_THAT(start_keys(batch + "priority: 'jq(.events[0].rank // 0)'\n"
                                 "concurrency: {limit: 1, key: 'jq(.events[0].customer)'}"),
              IsEmpty());
}

TEST(LintFlow, PointsOutAKeyOfStartsByAScheduleWhichHaveNoData) {
  const std::string start = "start: {type: scheduled, cron: '0 0 * * *'}\n";
  EXPECT_THAT(start_keys(start + "concurrency: {limit: 1, key: jq(.customer)}"),
              ElementsAre("warning concurrency.key"));
  EXPECT_THAT(start_keys(start + "concurrency: {limit: 1}"), IsEmpty());
}

TEST(LintFlow, AcceptsTheShortFormOfAMemberAsAKey) {
  EXPECT_THAT(start_keys("concurrency: {limit: 1, key: 'jq({customer})'}"), IsEmpty());
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
  for (const char* const key : {".customer", ".", "'.customer // 1.5'", "{a: [jq(.customer)]}"}) {
    const std::string limit = fmt::format(", concurrency: {{limit: 1, key: {}}}", key);
    EXPECT_THAT(places(with_call(limit)), IsEmpty()) << key;
    EXPECT_THAT(places(with_call("", limit)), IsEmpty()) << key;
  }
  for (const char* const key : {"1.5", "'\"a.b\"'", "'[1, 2]'", "{a: .customer}"}) {
    const std::string limit = fmt::format(", concurrency: {{limit: 1, key: {}}}", key);
    EXPECT_THAT(places(with_call(limit)), ElementsAre("warning functions[0].concurrency.key"))
        << key;
  }
}

TEST(LintFlow, PointsOutAPriorityThatNeverIsAnInteger) {
  const auto places = [](const std::string& priority) {
    return places_of("lint.wrong_type", with_keys("concurrency: {limit: 1}\npriority: " + priority),
                     {});
  };
  for (const char* const priority :
       {"jq(\"high\")", "high", "1.5", "jq(1.5)", "'jq(.a == 1)'", "'jq({a: 1})'", "'jq([.a])'",
        "[jq(.a)]", "'jq(.a)-jq(.b)'", "'jq(null)'", "3000000000", "true"}) {
    const bool loads = std::string_view(priority) != "high";  // a function that jq does not have
    EXPECT_EQ(places(priority).size(), loads ? 1U : 0U) << priority;
  }
  for (const char* const priority :
       {"5", "-5", ".a", "jq(.a)", "'jq(.a // 0)'", "'jq(.a // \"x\")'", "'jq(.a | length)'",
        "'jq(-.a)'", "'jq(2 - 5)'", ""}) {
    EXPECT_THAT(places(priority), IsEmpty()) << priority;
  }
}

TEST(LintFlow, PointsOutABarePriorityThatTheDataOfAnEventDoesNotHave) {
  EXPECT_THAT(places_of("lint.start_key",
                        with_keys("start: {type: event, event: {type: a}}\npriority: .rank\n"
                                  "concurrency: {limit: 1}"),
                        {}),
              ElementsAre("warning priority"));
}

TEST(LintFlow, PointsOutACallOfItselfThatNeedsTheSlotOfItsCaller) {
  const auto places = [](const std::string& limits, const std::string& input,
                         const std::string& more = "") {
    return places_of("lint.call_never",
                     fmt::format("id: a\n{}\nfunctions: [{{id: f, type: subflow, workflow: a}}]\n"
                                 "states:\n- {{id: a, type: noop, transition: b{}}}\n"
                                 "- {{id: b, type: action, action: {{function: f{}}}}}\n",
                                 limits, more, input),
                     {});
  };
  const std::string keyed = "concurrency: {limit: 1, key: jq(.order.id)}";
  const std::string here = "warning states[1].action.function";
  EXPECT_THAT(places("concurrency: {limit: 1}", ", input: jq(.rest)"), ElementsAre(here));
  EXPECT_THAT(places("concurrency: {limit: 1, key: jq(\"all\")}", ", input: 5"), ElementsAre(here));
  EXPECT_THAT(places(keyed, ""), ElementsAre(here));
  EXPECT_THAT(places(keyed, ", input: {order: jq(.order), n: 1}"), ElementsAre(here));
  EXPECT_THAT(places("debounce: {period: PT1M}\n" + keyed, ", input: ."), ElementsAre(here));
  for (const char* const input :
       {"jq(.rest)", "{order: jq(.next)}", "'jq({order: (.order | .next)})'", "5",
        "'jq(.items | map(.a))'"}) {
    EXPECT_THAT(places(keyed, fmt::format(", input: {}", input)), IsEmpty()) << input;
  }
  EXPECT_THAT(places(keyed, "", ", transform: {order: jq(.next)}"), IsEmpty())
      << "the data is another one";
  EXPECT_THAT(places("concurrency: {limit: 1, key: jq(.return)}", ""), IsEmpty());
  EXPECT_THAT(places("concurrency: {limit: 2}", ""), IsEmpty());
  EXPECT_THAT(places("batch: {maxSize: 5, timeout: PT1M}\nconcurrency: {limit: 1}", ""), IsEmpty());
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
