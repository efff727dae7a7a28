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

/// The messages of the findings with that code.
std::vector<std::string> messages_of(std::string_view code, const std::string& text) {
  std::vector<std::string> found = warnings_of(text);
  std::erase_if(found,
                [&](const std::string& one) { return !one.ends_with(fmt::format("[{}]", code)); });
  return found;
}

/// What the finding proposes for a key, or with `is_priority` for the priority, of starts by an
/// event of that type.
std::string correction_of_start(const char* type, const std::string& value,
                                bool is_priority = false) {
  const std::string limit = is_priority
                                ? fmt::format("priority: {}\nconcurrency: {{limit: 1}}", value)
                                : fmt::format("concurrency: {{limit: 1, key: {}}}", value);
  const std::vector<std::string> found = messages_of(
      "lint.start_key",
      with_keys(fmt::format("start: {{type: event, event: {{type: {}}}}}\n{}", type, limit)));
  if (found.size() != 1) return fmt::format("{} findings", found.size());
  const size_t at = found[0].find("; write ") + 8;
  return found[0].substr(at, found[0].rfind(" [") - at);
}

TEST(LintFlow, ProposesAWholeValueForAKeyThatTheDataDoesNotHave) {
  const char* const dotted = "order.placed2";
  EXPECT_EQ(correction_of_start(dotted, "jq(.customer)"), "'jq(.[\"order.placed2\"].customer)'");
  EXPECT_EQ(correction_of_start(dotted, "jq(.event.customer)"),
            "'jq(.[\"order.placed2\"].customer)'");
  EXPECT_EQ(correction_of_start(dotted, "jq(.customer.id)"),
            "'jq(.[\"order.placed2\"].customer.id)'");
  EXPECT_EQ(correction_of_start(dotted, "'jq(.customer // \"none\")'"),
            "'jq(.[\"order.placed2\"].customer // \"none\")'");
  EXPECT_EQ(correction_of_start(dotted, "'jq(.[\"a-b\"].c)'"),
            "'jq(.[\"order.placed2\"][\"a-b\"].c)'");
  EXPECT_EQ(correction_of_start("placed", "jq(.customer)"), "jq(.placed.customer)");
  EXPECT_EQ(correction_of_start("placed", "'c-jq(.customer)'"), "jq(.placed.customer)");
  EXPECT_EQ(correction_of_start("placed", "'jq([.customer, .region])'"), "jq(.placed.customer)");
  EXPECT_EQ(correction_of_start("placed", "jq(.rank)", true), "jq(.placed.rank // 0)");
  EXPECT_EQ(correction_of_start(dotted, "jq(.rank // 5)", true),
            "'jq(.[\"order.placed2\"].rank // 5)'");
}

TEST(LintFlow, SaysThatAStartWithoutAPriorityIsRefused) {
  const std::string start =
      "start: {type: event, event: {type: placed}}\nconcurrency: {limit: 1}\n";
  EXPECT_THAT(
      messages_of("lint.start_key", with_keys(start + "priority: jq(.rank)")),
      ElementsAre("warning priority: the data of a start by an event has no member \"rank\", "
                  "so each of them is refused with millrace.concurrency.priority; write "
                  "jq(.placed.rank // 0) [lint.start_key]"));
  EXPECT_THAT(
      messages_of("lint.start_key", with_keys(start + "priority: jq(.rank // 0)")),
      ElementsAre("warning priority: the data of a start by an event has no member \"rank\", "
                  "so the value is the same for all of them; write jq(.placed.rank // 0) "
                  "[lint.start_key]"));
}

TEST(LintFlow, PointsOutAPriorityThatIsNullIfAMemberIsMissing) {
  const auto found = [](const std::string& keys) {
    return messages_of("lint.priority_missing", with_keys(keys));
  };
  const std::string limit = "concurrency: {limit: 1}\npriority: ";
  EXPECT_THAT(
      found(limit + "jq(.rank)"),
      ElementsAre("warning priority: if the member is missing, the priority is null, and the "
                  "start is refused with millrace.concurrency.priority; write jq(.rank // 0) "
                  "[lint.priority_missing]"));
  for (const char* const priority :
       {".rank", "'jq(.[\"a\"].rank)'", "'jq(.a[0])'", "jq(.a | .b)"}) {
    EXPECT_EQ(found(limit + priority).size(), 1U) << priority;
  }
  for (const char* const priority :
       {"jq(.rank // 0)", ".", "5", "'jq(.a | length)'", "'jq(.a + 1)'"}) {
    EXPECT_THAT(found(limit + priority), IsEmpty()) << priority;
  }
  EXPECT_THAT(
      found(limit + "'jq(.rank // \"0\")'"),
      ElementsAre("warning priority: if the member is missing, the priority is no integer, and the "
                  "start is refused with millrace.concurrency.priority; write an integer as the "
                  "alternative, such as jq(.rank // 0) [lint.priority_missing]"));
  for (const char* const priority : {"'jq([.a])'", "'jq(.a == 1)'", "'jq(.a // .b // 1)'"}) {
    EXPECT_THAT(found(limit + priority), IsEmpty()) << priority;
  }
  EXPECT_EQ(found(limit + "'jq(.a // .b)'").size(), 1U);
  EXPECT_THAT(found("priority: jq(.rank)"), IsEmpty()) << "no start waits";
  EXPECT_THAT(found("start: {type: event, event: {type: a}}\n" + limit + "jq(.rank)"), IsEmpty())
      << "lint.start_key reports it";
  EXPECT_EQ(found("start: {type: event, event: {type: a}}\n" + limit + "jq(.a.rank)").size(), 1U);
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

TEST(LintCallFlow, PointsOutAKeyThatTheInputOfACallDoesNotHave) {
  const auto found = [](const std::string& key, const std::string& input) {
    return messages_of("lint.call_key",
                       with_call(fmt::format(", concurrency: {{limit: 1, key: {}}}", key),
                                 fmt::format(", input: {}", input)));
  };
  EXPECT_THAT(
      found("jq(.customer)", "'jq({order: .x})'"),
      ElementsAre("warning functions[0].concurrency.key: the input of states[0].action has no "
                  "member \"customer\", so the key is the same for all of these calls; add "
                  "\"customer\" to the `input`, which has \"order\", or read another member "
                  "[lint.call_key]"));
  EXPECT_THAT(
      found("'jq([.cust])'", "{order: jq(.x), customer: jq(.y)}"),
      ElementsAre("warning functions[0].concurrency.key: the input of states[0].action has no "
                  "member \"cust\", so the key is the same for all of these calls; did you "
                  "mean \"customer\"? [lint.call_key]"));
  EXPECT_THAT(
      found("jq(.custmer.id)", "{order: jq(.x), customer: jq(.y)}"),
      ElementsAre("warning functions[0].concurrency.key: the input of states[0].action has no "
                  "member \"custmer\", so the key is the same for all of these calls; did "
                  "you mean jq(.customer.id)? [lint.call_key]"));
  for (const char* const input : {"'jq({a} + {b: 1})'", "'jq(.x | {a})'", "{}"}) {
    EXPECT_EQ(found("jq(.customer)", input).size(), 1U) << input;
  }
  for (const char* const input : {"jq(.)", "jq(.x)", "'jq({a} + .x)'", "'jq({customer})'", "5",
                                  "'jq(.x | map(.a))'", "{customer: 1}", "'a jq(.x)'"}) {
    EXPECT_THAT(found("jq(.customer)", input), IsEmpty()) << input;
  }
  EXPECT_THAT(found("'jq({order, customer})'", "{order: 1}"), IsEmpty()) << "a part depends on it";
}

TEST(LintCallFlow, ComparesAKeyWithTheInputOfEachCallThatHasIt) {
  EXPECT_THAT(
      places_of("lint.call_key", R"(
id: a
functions:
- {id: f, type: service, service: s, throttle: {limit: 1, period: 1m, key: jq(.customer)}}
states:
- id: a
  type: parallel
  actions:
  - {function: f, input: {order: 1}}
  - {function: f, input: {order: 1}, throttle: {limit: 1, period: 1m, key: jq(.order)}}
  - {function: f, input: {order: 1}, throttle: {limit: 1, period: 1m, key: jq(.costs)}}
  - {function: f, input: {order: 1}, concurrency: {limit: 1, key: jq(.costs)}}
  compensate: {function: f, input: {order: 1}}
)",
                {}),
      ElementsAre("warning functions[0].throttle.key", "warning functions[0].throttle.key",
                  "warning functions[0].throttle.key", "warning states[0].actions[2].throttle.key",
                  "warning states[0].actions[3].concurrency.key"));
}

TEST(LintCallFlow, SaysThatACallWithoutAPriorityFails) {
  const auto found = [](const std::string& code, const std::string& priority,
                        const std::string& input) {
    return messages_of(
        code, with_call(fmt::format(", concurrency: {{limit: 1}}, priority: {}", priority), input));
  };
  EXPECT_THAT(
      found("lint.call_key", "jq(.rank)", ", input: {order: jq(.x)}"),
      ElementsAre("warning functions[0].priority: the input of states[0].action has no member "
                  "\"rank\", so each of these calls fails with millrace.concurrency.priority; "
                  "add \"rank\" to the `input`, which has \"order\", or read another member "
                  "[lint.call_key]"));
  EXPECT_THAT(
      found("lint.call_key", "jq(.rnk // 0)", ", input: {rank: jq(.x)}"),
      ElementsAre("warning functions[0].priority: the input of states[0].action has no member "
                  "\"rnk\", so the priority is the same for all of these calls; did you mean "
                  "jq(.rank // 0)? [lint.call_key]"));
  const char* const missing = "lint.priority_missing";
  EXPECT_THAT(
      found(missing, "jq(.rank)", ""),
      ElementsAre("warning functions[0].priority: if the member is missing, the priority is "
                  "null, and the call fails with millrace.concurrency.priority; write "
                  "jq(.rank // 0) [lint.priority_missing]"));
  EXPECT_EQ(found(missing, "jq(.rank)", ", input: {rank: jq(.x)}").size(), 1U);
  EXPECT_THAT(found(missing, "jq(.rank)", ", input: {rank: 5}"), IsEmpty());
  EXPECT_THAT(found(missing, "jq(.rank)", ", input: {order: 5}"), IsEmpty())
      << "lint.call_key reports it";
  EXPECT_THAT(found(missing, "jq(.rank)", ", priority: jq(.rank // 0)"), IsEmpty());
  EXPECT_THAT(found(missing, "jq(.rank // 0)", ", priority: jq(.rank)"),
              ElementsAre(testing::HasSubstr("states[0].action.priority")));
}

TEST(LintCallFlow, PointsOutAKeyThatTheDataOfTheStartDoesNotHave) {
  const auto found = [](const std::string& start, const std::string& limit,
                        const std::string& state, const std::string& more = "") {
    return messages_of("lint.call_key", fmt::format(R"(
id: a
start: {}
functions: [{{id: f, type: service, service: s, {}}}]
states:
- {{id: a, {}}}
{})",
                                                    start, limit, state, more));
  };
  const std::string event = "{type: event, event: {type: order.placed}}";
  const std::string keyed = "concurrency: {limit: 1, key: jq(.customer)}";
  const std::string action = "type: action, action: {function: f}";
  EXPECT_THAT(
      found(event, keyed, action),
      ElementsAre("warning functions[0].concurrency.key: the input of states[0].action is the data "
                  "of a start by an event, which has no member \"customer\", so the key is the "
                  "same for all of these calls; write 'jq(.[\"order.placed\"].customer)' "
                  "[lint.call_key]"));
  EXPECT_THAT(
      found(event, "concurrency: {limit: 1}, priority: jq(.rank)", action),
      ElementsAre("warning functions[0].priority: the input of states[0].action is the data of a "
                  "start by an event, which has no member \"rank\", so each of these calls fails "
                  "with millrace.concurrency.priority; write "
                  "'jq(.[\"order.placed\"].rank // 0)' [lint.call_key]"));
  EXPECT_THAT(found("{type: scheduled, cron: '0 0 * * *'}", keyed, action),
              ElementsAre(testing::HasSubstr(
                  "give the action an `input` with \"customer\", or remove the key")));
  EXPECT_THAT(found(event, keyed,
                    "type: parallel, actions: [{function: f}, {function: f, input: "
                    "jq(.x)}]"),
              ElementsAre(testing::HasSubstr(
                  "write `input: 'jq(.[\"order.placed\"])'` in the action [lint.call_key]")));
  EXPECT_EQ(found(event, "files: []", "type: action, action: {function: f, " + keyed + "}").size(),
            1U);
  EXPECT_EQ(found("{type: event, event: {type: order.placed}}\nbatch: {maxSize: 2, timeout: 1m}",
                  keyed, action)
                .size(),
            1U);
  for (const char* const key : {"'jq(.[\"order.placed\"].customer)'", "jq(.order.customer)",
                                "jq(.)", "'jq(.customer // .[\"order.placed\"].customer)'"}) {
    EXPECT_THAT(found(event, fmt::format("concurrency: {{limit: 1, key: {}}}", key), action),
                IsEmpty())
        << key;
  }
  EXPECT_THAT(found("{type: default}", keyed, action), IsEmpty());
  EXPECT_THAT(found(event, keyed, "type: action, action: {function: f, input: jq(.x)}"), IsEmpty());
  EXPECT_THAT(found(event, "concurrency: {limit: 1, key: jq(.secrets.k)}",
                    "type: action, action: {function: f, secrets: [k]}"),
              IsEmpty());
  EXPECT_THAT(found(event, keyed, "type: foreach, array: jq(.x), action: {function: f}"), IsEmpty())
      << "the input is the element";
  EXPECT_THAT(found(event, keyed, action + ", continueAsNew: jq(.)"), IsEmpty());
  EXPECT_THAT(found(event, keyed, action + ", transition: b",
                    "- {id: b, type: delay, duration: 1s, transition: a}\n"),
              IsEmpty())
      << "the state has other data, too";
  EXPECT_THAT(found(event, keyed, "type: noop, transition: b",
                    "- {id: b, type: action, action: {function: f}}\n"),
              IsEmpty());
}

TEST(LintCallFlow, ComparesAPriorityOnlyWithTheCallsThatHaveALimit) {
  const auto found = [](const std::string& limited, const std::string& unlimited,
                        const std::string& more = "") {
    return places_of("lint.call_key",
                     fmt::format(R"(
id: a
functions: [{{id: f, type: service, service: s, priority: jq(.rank){}}}]
states:
- {{id: a, type: action, action: {{function: f, concurrency: {{limit: 1}}{}}}, transition: b}}
- {{id: b, type: action, action: {{function: f{}}}, compensate: {{function: f, input: {{n: 1}}}}}}
)",
                                 more, limited, unlimited),
                     {});
  };
  const char* const without = ", input: {order: 1}";
  const char* const with = ", input: {rank: 1}";
  EXPECT_THAT(found(with, without), IsEmpty());
  EXPECT_EQ(found(without, with).size(), 1U);
  EXPECT_EQ(found(with, without, ", throttle: {limit: 1, period: 1m}").size(), 2U);
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
