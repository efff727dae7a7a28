#include "orchestrator/definition/lint_queries.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/definition/lint_findings.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(LintQueries, PointsOutUnanchoredPatternsAndJqProgramsWrittenAsBareText) {
  EXPECT_THAT(
      lint_of(R"(
id: a
states:
- id: a
  type: consumeEvent
  event: {type: t, context: {venue: Sydney, source: ^a, time: "12:", town: "^b$", id: jq(.id)}}
  transform: .t
)"),
      ElementsAre("note states[0].event.context.venue: \"Sydney\" matches longer texts that "
                  "contain it, too; write ^…$ around it to match only this text [lint.unanchored]",
                  "note states[0].transform: this key takes its text as a jq program even "
                  "without jq(…); write jq(.t) [lint.bare_jq]"));
}

TEST(LintQueries, PointsOutPatternsThatBacktrack) {
  const auto is_note_of = [](const std::string& attribute) {
    return AllOf(HasSubstr("note states[0].event.context." + attribute + ": "),
                 HasSubstr("is matched with backtracking"), EndsWith("[lint.backtracking]"));
  };
  EXPECT_THAT(lint_of(R"(
id: a
states:
- id: a
  type: consumeEvent
  event: {type: t, context: {venue: '^(?!Sydney)', town: '^(a|b)+$', zone: '^(.)\1$'}}
)"),
              ElementsAre(is_note_of("venue"), is_note_of("zone")));
  EXPECT_THAT(lint_of(R"(
id: a
states:
- id: a
  type: consumeEvent
  event: {type: t, context: {venue: '^(?!x)jq(.city)', town: '^jq(.town)$', zone: jq(.zone)}}
)"),
              ElementsAre(is_note_of("venue")));
}

TEST(LintQueries, ExplainsThatAJqPathWithDotsReadsNestedKeys) {
  EXPECT_THAT(lint_of(R"(
id: a
states:
- id: a
  type: consumeEvent
  event: {type: payment.received}
  transform: jq(.payment.received.amount)
)"),
              ElementsAre("warning states[0].transform: .payment.received reads several nested "
                          "keys, but the data of the event is under the one key "
                          "\"payment.received\"; write .[\"payment.received\"] "
                          "[lint.split_key]"));
}

TEST(LintQueries, NamesEveryKeyWithDotsThatAJqPathReadsAsNestedKeys) {
  const auto split = [](const char* query) {
    std::vector<std::string> found;
    for (const std::string& one : warnings_of(fmt::format(
             "id: a\nstates:\n- id: a\n  type: eventXor\n  events:\n  - event: {{type: "
             "payment.received}}\n  - event: {{type: order.placed}}\n  - event: {{type: "
             "order.placed.late}}\n  - event: {{type: amount.paid}}\n  log: jq({})\n",
             query))) {
      found.push_back(one.substr(one.find("; ") + 2));
    }
    return found;
  };
  EXPECT_THAT(split("[.payment.received.amount, .order.placed.id]"),
              ElementsAre("write .[\"payment.received\"] [lint.split_key]",
                          "write .[\"order.placed\"] [lint.split_key]"));
  EXPECT_THAT(split(".order.placed.late.id"),
              ElementsAre("write .[\"order.placed.late\"] [lint.split_key]"));
  EXPECT_THAT(split("[.order.placed.late.id, .order.placed.id, .order.placed.n]"),
              ElementsAre("write .[\"order.placed.late\"] [lint.split_key]",
                          "write .[\"order.placed\"] [lint.split_key]"));
  EXPECT_THAT(split(".payment.received.amount.paid"),
              ElementsAre("write .[\"payment.received\"] [lint.split_key]"));
  EXPECT_THAT(split(".[\"payment.received\"].amount"), IsEmpty());
  EXPECT_THAT(split(".[\"order.placed\"].late"), IsEmpty());
  for (const char* query : {".order[\"placed\"].id", ".\"order\".placed", ".order | .placed",
                            "(.order).placed", "[.[\"order\"][\"placed\"]]"}) {
    EXPECT_THAT(split(query), ElementsAre("write .[\"order.placed\"] [lint.split_key]")) << query;
  }
}

/// The warnings of a definition that waits for the events `order.new` and `user.name` and continues
/// with these states.
std::vector<std::string> warnings_behind_events(const std::string& states) {
  std::vector<std::string> found = warnings_of(
      fmt::format("id: a\nfunctions: [{{id: f, type: subflow, workflow: w}}]\nstates:\n"
                  "- id: wait\n  type: eventAnd\n"
                  "  events: [{{type: order.new}}, {{type: user.name}}]\n  transition: s\n{}",
                  states));
  std::erase_if(found, [](const std::string& one) { return one.ends_with("[lint.unused]"); });
  return found;
}

TEST(LintQueries, AcceptsAJqPathWhoseFirstKeyTheDefinitionSets) {
  for (const char* states : {R"(
- {id: s, type: noop, transform: 'jq({order: {new: .["order.new"]}})', transition: t}
- {id: t, type: noop, log: jq(.order.new.id)}
)",
                             R"(
- {id: s, type: noop, transform: {order: {new: 'jq(.["order.new"])'}}, transition: t}
- {id: t, type: noop, log: jq(.order.new.id)}
)",
                             R"(
- {id: s, type: action, action: {function: f}, transform: jq(.user = .return), transition: t}
- {id: t, type: noop, log: jq(.user.name)}
)",
                             R"(
- {id: s, type: action, action: {function: f}, transform: 'jq({user: .return})', transition: t}
- {id: t, type: noop, log: jq(.user.name)}
)",
                             R"(
- {id: s, type: noop, transform: jq(.order.new += 1)}
)",
                             R"(
- {id: s, type: noop, log: 'jq({order: {new: .new}} | .order.new)'}
)",
                             R"(
- {id: s, type: foreach, array: jq(.users), action: {function: f, input: jq(.user.name)}}
)",
                             R"(
- {id: s, type: consumeEvent, event: {type: user}, transition: t}
- {id: t, type: noop, log: jq(.user.name)}
)"}) {
    EXPECT_THAT(warnings_behind_events(states), IsEmpty()) << states;
  }
}

TEST(LintQueries, PointsOutAJqPathIfNothingBeforeTheReadSetsItsFirstKey) {
  for (const char* states : {R"(
- {id: s, type: noop, transform: 'jq({order: .order.new})'}
)",
                             R"(
- {id: s, type: action, action: {function: f, input: 'jq({order: .order.new})'}}
)",
                             R"(
- {id: s, type: foreach, array: jq(.order.new), action: {function: f}}
)",
                             R"(
- {id: s, type: noop, transform: 'jq({orders: .a})', transition: t}
- {id: t, type: noop, log: jq(.order.new.id)}
)"}) {
    EXPECT_THAT(warnings_behind_events(states), ElementsAre(HasSubstr("lint.split_key"))) << states;
  }
}

TEST(LintQueries, PointsOutAConditionWhoseResultIsThatOfAnAssignment) {
  const auto warnings = [](const char* condition) {
    return warnings_of(
        fmt::format("id: a\nstates: [{{id: a, type: switch, conditions: "
                    "[{{condition: 'jq({})'}}]}}]",
                    condition));
  };
  for (const char* condition : {".a = 3", ".a | .b = 3", "(.a = 3)"}) {
    EXPECT_THAT(warnings(condition), ElementsAre(HasSubstr("lint.condition_assigns"))) << condition;
  }
  for (const char* condition : {".return.updated |= . // 0 | .return.updated > 3",
                                "(.a = 1).a == 1", "(.a == 1) and (.b = 2)", "(.a = 3) | .a"}) {
    EXPECT_THAT(warnings(condition), IsEmpty()) << condition;
  }
}

TEST(LintQueries, PointsOutAQueryInTheMessageOfAnErrorState) {
  const auto warnings = [](const char* message) {
    return warnings_of(fmt::format(
        "id: a\nstates: [{{id: a, type: error, error: late, message: '{}'}}]", message));
  };
  for (const auto& [message, part] :
       std::vector<std::pair<const char*, const char*>>{{"${ .x }", "${ .x }"},
                                                        {"{{ .x }}", "{{ .x }}"},
                                                        {".x", ".x"},
                                                        {"order jq(.x) is late", "jq(.x)"}}) {
    EXPECT_THAT(
        warnings(message),
        ElementsAre(fmt::format("warning states[0].message: \"{}\" is plain text here, not jq; "
                                "write %s in its place, and jq(.x) in `args` "
                                "[lint.literal_jq]",
                                part)));
  }
  EXPECT_THAT(warnings("the order is late"), IsEmpty());
}

/// The warning for a value of `context`, without severity and place; empty: no warning.
std::string warning_of_pattern(const char* state, const std::string& value) {
  Findings findings;
  const std::optional<Node> document =
      parse_document(fmt::format(fmt::runtime(state), value), findings);
  if (document) lint(*document, findings);
  for (const Finding& one : findings.sorted()) {
    if (one.severity == Severity::kWarning) return fmt::format("{} [{}]", one.message, one.code);
  }
  return "";
}

TEST(LintQueries, SuggestsJqForTextThatLooksLikeAQuery) {
  constexpr const char* kConsume =
      "id: a\nstates: [{{id: a, type: consumeEvent, event: {{type: t, context: {{a: '{}'}}}}}}]";
  constexpr const char* kData =
      "id: a\nstates: [{{id: a, type: generateEvent, event: {{type: t, source: s, data: {{a: "
      "'{}'}}}}}}]";
  struct Row {
    const char* text;
    const char* part;
    const char* query;
  };
  for (const Row& row : std::vector<Row>{{"${ .order }", "${ .order }", ".order"},
                                         {"${.order}", "${.order}", ".order"},
                                         {"x-${ .order }-y", "${ .order }", ".order"},
                                         {"$.order", "$.order", ".order"},
                                         {"$.order.id", "$.order.id", ".order.id"},
                                         {"$(.order)", "$(.order)", ".order"},
                                         {"{{ .order }}", "{{ .order }}", ".order"},
                                         {"${{ .order }}", "{{ .order }}", ".order"},
                                         {"jq (.order)", "jq (.order)", ".order"},
                                         {".order", ".order", ".order"},
                                         {".order[0].id", ".order[0].id", ".order[0].id"}}) {
    EXPECT_EQ(warning_of_pattern(kConsume, row.text),
              fmt::format("\"{}\" is a pattern here, not jq; write jq({}) [lint.literal_jq]",
                          row.part, row.query));
    const std::string constant = fmt::format("jq(\"{}\")", row.text);
    EXPECT_EQ(
        warning_of_pattern(kData, row.text),
        fmt::format("\"{}\" is plain text here, not jq; write jq({}), or {} for the literal text "
                    "[lint.literal_jq]",
                    row.part, row.query, constant));
    EXPECT_EQ(warning_of_pattern(kData, constant), "");
  }
  // Lint reports these texts in patterns only, because elsewhere they may be intended as data.
  for (const auto& [text, query] : std::vector<std::pair<const char*, const char*>>{
           {"${order}", "jq(.order)"},
           {"{{ order.id }}", "jq(.order.id)"},
           {"${ @a }", "jq(…) around the query"},
           {R"(.order // "a")", R"(jq(.order // "a"))"}}) {
    EXPECT_THAT(warning_of_pattern(kConsume, text),
                EndsWith(fmt::format("; write {} [lint.literal_jq]", query)));
  }
  EXPECT_EQ(warning_of_pattern(kData, "${order}"), "");
  // These texts are valid patterns.
  for (const char* pattern : {R"(^\$\{.*\}$)", R"(\{{2})", ".[a-z]+", "^(a$|b)", ".a+", ".*",
                              ".order[a-z]", "^jq$", R"(\$\.a)"}) {
    EXPECT_EQ(warning_of_pattern(kConsume, pattern), "") << pattern;
  }
}

TEST(LintQueries, AsksForAPatternInAStartBecauseAStartHasNoData) {
  EXPECT_EQ(warning_of_pattern("id: a\nstart: {{type: event, event: {{type: t, context: {{a: "
                               "'{}'}}}}}}\nstates: [{{id: a, type: noop}}]",
                               "${ .order }"),
            "\"${ .order }\" is a pattern here, not jq; write a pattern; a start has no data yet "
            "that jq(…) could read [lint.literal_jq]");
}

}  // namespace
}  // namespace millrace
