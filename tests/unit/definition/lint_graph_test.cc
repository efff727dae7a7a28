#include "orchestrator/definition/lint_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Node document_of(std::string_view text) {
  Findings findings;
  std::optional<Node> document = parse_document(text, findings);
  EXPECT_TRUE(document) << text;
  return document ? *std::move(document) : Node();
}

StateGraph graph_of(std::string_view text) { return state_graph(document_of(text)); }

/// The only state of a definition; `keys` are its keys beside `id`.
StateNode only_state(const std::string& keys) {
  const StateGraph graph = graph_of("id: w\nstates:\n- {id: a, " + keys + "}\n");
  EXPECT_THAT(graph.states, SizeIs(1)) << keys;
  return graph.states.empty() ? StateNode() : graph.states.front();
}

TEST(LintGraph, ListsTheStatesInTextOrderWithTheirPlaces) {
  const StateGraph graph = graph_of(R"(id: w
states:
- {id: second, type: noop}
- type: delay
  duration: PT1S
  id: first
)");
  ASSERT_THAT(graph.states, SizeIs(2));
  EXPECT_EQ(graph.states[0].id, "second");
  EXPECT_EQ(graph.states[0].type, "noop");
  EXPECT_EQ(graph.states[1].id, "first");
  EXPECT_EQ(graph.states[1].type, "delay");
  EXPECT_EQ(graph.states[1].at.line, 6U);
  EXPECT_EQ(graph.states[1].at.column, 7U);
}

TEST(LintGraph, LeadsToTheStartOfTheNextRun) {
  const StateGraph graph = graph_of(R"(id: w
start: {type: default, state: b}
states:
- {id: a, type: noop, continueAsNew: {}}
- id: b
  type: switch
  conditions:
  - {condition: jq(.x), continueAsNew: jq(.y)}
  defaultContinueAsNew: jq(.y)
)");
  ASSERT_THAT(graph.states, SizeIs(2));
  EXPECT_EQ(graph.states[0].next, std::vector<size_t>({1}));
  EXPECT_FALSE(graph.states[0].may_end);
  EXPECT_EQ(graph.states[1].next, std::vector<size_t>({1, 1}));
  EXPECT_FALSE(graph.states[1].may_end);
}

TEST(LintGraph, FollowsTheTransitionsOfEveryMappingInAState) {
  const StateGraph graph = graph_of(R"(id: w
states:
- id: a
  type: switch
  conditions:
  - {condition: jq(.x), transition: b}
  - {condition: jq(.y), transition: c}
  defaultTransition: a
- id: b
  type: eventXor
  events:
  - {event: {type: t}, transition: c}
  - {event: {type: u}, transition: a}
- id: c
  type: delay
  duration: PT1S
  transition: a
  catch: [{error: '*', transition: b}]
)");
  ASSERT_THAT(graph.states, SizeIs(3));
  EXPECT_THAT(graph.states[0].next, testing::UnorderedElementsAre(1, 2, 0));
  EXPECT_THAT(graph.states[1].next, testing::UnorderedElementsAre(2, 0));
  EXPECT_THAT(graph.states[2].next, testing::UnorderedElementsAre(0, 1));
  for (const StateNode& state : graph.states) EXPECT_FALSE(state.may_end) << state.id;
}

TEST(LintGraph, MarksAStateAsAPossibleEndIfAnExitHasNoTransition) {
  EXPECT_TRUE(only_state("type: noop").may_end);
  EXPECT_FALSE(only_state("type: noop, transition: a").may_end);
  EXPECT_TRUE(only_state("type: noop, transition: a, catch: [{error: '*'}]").may_end);
  EXPECT_TRUE(only_state("type: switch, conditions: [{condition: jq(.x), transition: a}]").may_end)
      << "the default has no transition";
  EXPECT_TRUE(
      only_state("type: switch, defaultTransition: a, conditions: [{condition: jq(.x)}]").may_end)
      << "a condition has no transition";
}

TEST(LintGraph, MarksAValidateStateAsAPossibleEnd) {
  EXPECT_TRUE(only_state("type: validate, schema: {}, transition: a").may_end);
}

TEST(LintGraph, MarksAStateAsAPossibleEndIfATransitionNamesAMissingState) {
  const StateNode state = only_state("type: noop, transition: missing");
  EXPECT_TRUE(state.may_end);
  EXPECT_THAT(state.next, IsEmpty());
}

TEST(LintGraph, RecognizesStatesThatWaitByEverySpellingOfTheirType) {
  for (const char* const waiting :
       {"type: action, action: {function: f}", "type: consumeEvent, event: {type: t}",
        "type: delay, duration: PT1S", "type: eventAnd, events: [{type: t}]",
        "type: eventsAnd, events: [{type: t}]", "type: eventXor, events: [{event: {type: t}}]",
        "type: eventsXor, events: [{event: {type: t}}]",
        "type: foreach, array: jq(.l), action: {function: f}",
        "type: parallel, actions: [{function: f}]"}) {
    EXPECT_TRUE(only_state(waiting).waits) << waiting;
  }
  for (const char* const passing :
       {"type: noop", "type: switch, conditions: []", "type: validate, schema: {}",
        "type: error, error: e, message: m", "type: generateEvent, event: {type: t, source: s}",
        "type: getter, variables: []", "type: setter, variables: []", "type: unknown"}) {
    EXPECT_FALSE(only_state(passing).waits) << passing;
  }
}

TEST(LintGraph, EntersAtTheFirstStateUnlessTheStartNamesAState) {
  constexpr const char* kStates = "states: [{id: a, type: noop}, {id: b, type: noop}]\n";
  const auto entries = [&](const std::string& keys) {
    return graph_of("id: w\n" + keys + kStates).entries;
  };
  EXPECT_THAT(entries(""), ElementsAre(0));
  EXPECT_THAT(entries("start: {type: default, state: b}\n"), ElementsAre(1));
  EXPECT_THAT(entries("start: {type: scheduled, cron: '@hourly'}\n"), ElementsAre(0));
  EXPECT_THAT(entries("start: {type: default, state: missing}\n"), ElementsAre(0));
  EXPECT_THAT(entries("on_failure: b\n"), testing::UnorderedElementsAre(0, 1));
  EXPECT_THAT(entries("start: {type: default, state: b}\non_failure: a\n"),
              testing::UnorderedElementsAre(0, 1));
}

TEST(LintGraph, IsEmptyIfAStateIsIncomplete) {
  for (const char* const text :
       {"id: w", "id: w\nstates: []", "id: w\nstates: 3",
        "id: w\nstates: [{id: a, type: noop}, {id: b}]",
        "id: w\nstates: [{id: a, type: noop}, {type: noop}]", "id: w\nstates: [text]"}) {
    EXPECT_THAT(graph_of(text).states, IsEmpty()) << text;
    EXPECT_THAT(graph_of(text).entries, IsEmpty()) << text;
  }
  EXPECT_THAT(reachable({}), IsEmpty());
  EXPECT_THAT(leading_out({}), IsEmpty());
  EXPECT_THAT(reachable_from_start(document_of("id: w"), {}), IsEmpty());
}

TEST(LintGraph, ReachesStatesThroughTransitionsAndCycles) {
  const StateGraph graph = graph_of(R"(id: w
states:
- {id: a, type: noop, transition: b}
- {id: b, type: noop, transition: a, catch: [{error: '*', transition: c}]}
- {id: c, type: noop}
- {id: lost, type: noop, transition: lost2}
- {id: lost2, type: noop, transition: lost}
)");
  EXPECT_THAT(reachable(graph), ElementsAre(true, true, true, false, false));
}

TEST(LintGraph, DoesNotCountOnFailureAsAWayFromTheStart) {
  constexpr const char* kStates = R"(
on_failure: c
states:
- {id: a, type: noop}
- {id: b, type: noop}
- {id: c, type: noop, transition: d}
- {id: d, type: noop}
)";
  const auto reached = [&](const std::string& start) {
    const Node document = document_of("id: w\n" + start + kStates);
    return reachable_from_start(document, state_graph(document));
  };
  EXPECT_THAT(reached(""), ElementsAre(true, false, false, false));
  EXPECT_THAT(reached("start: {type: default, state: b}"), ElementsAre(false, true, false, false));
  EXPECT_THAT(reached("start: {type: default, state: d}"), ElementsAre(false, false, false, true));
  EXPECT_THAT(reachable(graph_of(std::string("id: w") + kStates)),
              ElementsAre(true, false, true, true));
}

TEST(LintGraph, FindsTheStatesThatLeadToAnEndOrToAWaitingState) {
  const StateGraph graph = graph_of(R"(id: w
states:
- {id: to_end, type: noop, transition: end}
- {id: end, type: noop}
- {id: to_wait, type: noop, transition: wait}
- {id: wait, type: delay, duration: PT1S, transition: wait}
- {id: circle, type: noop, transition: circle2}
- {id: circle2, type: noop, transition: circle}
)");
  EXPECT_THAT(leading_out(graph), ElementsAre(true, true, true, true, false, false));
}

}  // namespace
}  // namespace millrace
