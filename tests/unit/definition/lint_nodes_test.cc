#include "orchestrator/definition/lint_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Node tree_of(std::string_view text) {
  Findings findings;
  std::optional<Node> document = parse_document(text, findings);
  EXPECT_TRUE(document) << text;
  return document ? *std::move(document) : Node();
}

TEST(LintNodes, ReturnTheValueOfAKeyOrNothing) {
  const Node node = tree_of("{text: t, list: [1, 2], empty: }");
  ASSERT_NE(value_of(node, "text"), nullptr);
  EXPECT_EQ(value_of(node, "text")->text, "t");
  EXPECT_NE(value_of(node, "empty"), nullptr);
  EXPECT_EQ(value_of(node, "missing"), nullptr);
  EXPECT_EQ(value_of(tree_of("text"), "text"), nullptr) << "a string has no keys";
  EXPECT_EQ(text_of(node, "text"), "t");
  EXPECT_EQ(text_of(node, "missing"), "");
  EXPECT_EQ(text_of(node, "list"), "");
  EXPECT_THAT(items_of(node, "list"), SizeIs(2));
  EXPECT_THAT(items_of(node, "missing"), IsEmpty());
  EXPECT_THAT(items_of(node, "text"), IsEmpty());
}

TEST(LintNodes, FindRetriesInEitherSpelling) {
  for (const char* const key : {"retries", "retry"}) {
    const Node node = tree_of(std::string(key) + ": {max_attempts: 2}");
    ASSERT_NE(find_retries(node), nullptr) << key;
    EXPECT_EQ(find_retries(node)->key, key);
  }
  const Node both = tree_of("{retry: a, retries: b}");
  EXPECT_EQ(find_retries(both)->key, "retries");
  EXPECT_EQ(find_retries(tree_of("other: 1")), nullptr);
}

TEST(LintNodes, NameAStateTypeByItsFirstSpelling) {
  EXPECT_EQ(type_of_state(tree_of("type: eventsAnd")), type_of_state(tree_of("type: eventAnd")));
  EXPECT_EQ(type_of_state(tree_of("type: noop")), "noop");
  EXPECT_EQ(type_of_state(tree_of("type: unknown")), "");
  EXPECT_EQ(type_of_state(tree_of("id: a")), "");
}

constexpr const char* kCalls = R"(
id: w
functions:
- {id: f, type: subflow, workflow: other}
- {id: g, type: isolated, image: i}
states:
- {id: pass, type: noop}
- {id: one, type: action, action: {function: f}}
- {id: each, type: foreach, array: jq(.l), action: {function: g}}
- {id: all, type: parallel, actions: [{function: g}, {function: f}]}
)";

TEST(LintNodes, ListTheCallsInTextOrderWithTheirPaths) {
  const Node document = tree_of(kCalls);
  const std::vector<ActionSite> sites = actions_of(document);
  std::vector<std::string> paths;
  for (const ActionSite& site : sites) paths.push_back(site.path + " > " + site.function_path);
  EXPECT_THAT(
      paths,
      ElementsAre("states[1].action > functions[0]", "states[2].action > functions[1]",
                  "states[3].actions[0] > functions[1]", "states[3].actions[1] > functions[0]"));
  for (const ActionSite& site : sites) {
    EXPECT_EQ(site.state, &document.find("states")->value.items[site.state_index]) << site.path;
    EXPECT_EQ(text_of(*site.action, "function"), text_of(*site.function, "id")) << site.path;
    EXPECT_EQ(site.is_subflow(), text_of(*site.function, "id") == "f") << site.path;
  }
}

TEST(LintNodes, FindNoFunctionForACallOfAnUnknownFunction) {
  for (const char* const action : {"{function: missing}", "{}", "{input: 1}"}) {
    const Node document =
        tree_of(std::string("functions: [{id: f, type: subflow, workflow: o}, {type: subflow}]\n") +
                "states: [{id: a, type: action, action: " + action + "}]");
    const std::vector<ActionSite> sites = actions_of(document);
    ASSERT_THAT(sites, SizeIs(1)) << action;
    EXPECT_EQ(sites[0].function, nullptr) << action;
    EXPECT_EQ(sites[0].function_path, "") << action;
    EXPECT_FALSE(sites[0].is_subflow()) << action;
  }
}

TEST(LintNodes, FindTheFirstOfTwoFunctionsWithTheSameId) {
  const Node document = tree_of(
      "functions: [{id: f, type: subflow, workflow: o}, {id: f, type: isolated, image: i}]\n"
      "states: [{id: a, type: action, action: {function: f}}]");
  EXPECT_EQ(actions_of(document).at(0).function_path, "functions[0]");
}

TEST(LintNodes, MarkDetachedCallsAndCallsOfAParallelStateInModeOr) {
  const auto only = [](const std::string& state) {
    const Node document = tree_of("states: [{id: a, " + state + "}]");
    const std::vector<ActionSite> sites = actions_of(document);
    EXPECT_THAT(sites, SizeIs(1)) << state;
    return std::pair(sites.at(0).is_async, sites.at(0).is_any);
  };
  EXPECT_EQ(only("type: action, async: true, action: {function: f}"), std::pair(true, false));
  EXPECT_EQ(only("type: action, async: false, action: {function: f}"), std::pair(false, false));
  EXPECT_EQ(only("type: action, action: {function: f}"), std::pair(false, false));
  EXPECT_EQ(only("type: foreach, async: true, array: jq(.l), action: {function: f}"),
            std::pair(false, false));
  EXPECT_EQ(only("type: parallel, mode: or, actions: [{function: f}]"), std::pair(false, true));
  EXPECT_EQ(only("type: parallel, mode: and, actions: [{function: f}]"), std::pair(false, false));
}

TEST(LintNodes, FindNoCallsInADefinitionWithoutCalls) {
  for (const char* const text :
       {"id: w", "states: 3", "states: [text]", "states: [{id: a, type: action}]",
        "states: [{id: a, type: parallel, actions: text}]",
        "states: [{id: a, type: noop, action: {function: f}}]",
        "states: [{id: a, type: unknown, action: {function: f}}]"}) {
    EXPECT_THAT(actions_of(tree_of(text)), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace millrace
