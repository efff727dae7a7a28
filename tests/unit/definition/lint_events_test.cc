#include "orchestrator/definition/lint_events.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/definition/lint_findings.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(LintEvents, PointsOutATypeThatLooksLikeAPattern) {
  const auto warnings = [](const char* type) {
    return warnings_of(
        fmt::format("id: a\nstates: [{{id: a, type: consumeEvent, event: {{type: '{}'}}}}]", type));
  };
  for (const char* type : {"order.>", ">", "order.{a,b}", "order.*"}) {
    EXPECT_THAT(warnings(type), ElementsAre(HasSubstr("looks like a pattern"))) << type;
  }
  for (const char* type : {" order", "order "}) {
    EXPECT_THAT(warnings(type), ElementsAre(HasSubstr("begins or ends with a blank; write "
                                                      "\"order\" [lint.literal_type]")))
        << type;
  }
  for (const char* type : {"order", "https://a.test/b?c=d+e#f", "order->paid"}) {
    EXPECT_THAT(warnings(type), IsEmpty()) << type;
  }
}

TEST(LintEvents, PointsOutAStartWhoseGroupsStayWithoutLimit) {
  const auto places = [](const char* start) {
    return places_of("lint.group_unbounded",
                     fmt::format("id: a\nstart: {{{}}}\nstates: [{{id: a, type: noop}}]", start),
                     {});
  };
  for (const char* const start :
       {"type: eventsAnd, events: [{type: paid}, {type: packed}]",
        "type: eventAnd, correlate: [orderid], events: [{type: paid}, {type: packed}]"}) {
    EXPECT_THAT(places(start), ElementsAre("note start.type")) << start;
  }
  for (const char* const start :
       {"type: eventsAnd, lifespan: P1D, events: [{type: paid}, {type: packed}]",
        "type: eventsAnd, events: [{type: paid}]",
        "type: eventsXor, events: [{type: paid}, {type: packed}]",
        "type: event, event: {type: paid}", "type: default"}) {
    EXPECT_THAT(places(start), IsEmpty()) << start;
  }
  EXPECT_THAT(notes_of("id: a\nstart:\n  type: eventsAnd\n  events: [{type: paid}, {type: "
                       "packed}]\nstates: [{id: a, type: noop}]"),
              ElementsAre("note start.type: without `lifespan`, events wait without limit in a "
                          "group that never becomes complete; write how long an event waits for "
                          "the others, such as `lifespan: P1D` [lint.group_unbounded]"));
}

TEST(LintEvents, GivesThePlaceOfAStartWhoseGroupsStayWithoutLimit) {
  Findings findings;
  const std::optional<Node> document = parse_document(
      "id: a\nstart:\n  type: eventsAnd\n  events: [{type: paid}, {type: packed}]\n"
      "states: [{id: a, type: noop}]",
      findings);
  ASSERT_TRUE(document);
  lint_events(*document, nullptr, findings);
  const std::vector<Finding> sorted = findings.sorted();
  ASSERT_EQ(sorted.size(), 1U);
  EXPECT_EQ(described(sorted.front()), "3:9 lint.group_unbounded");
}

TEST(LintEvents, NotesATypeOfWhichNothingMakesEvents) {
  constexpr const char* kListens = R"(
id: a
start: {type: event, event: {type: order.placed}}
states:
- {id: one, type: generateEvent, event: {type: order.sent, source: a}, transition: two}
- {id: two, type: consumeEvent, event: {type: order.sent}, transition: three}
- {id: three, type: consumeEvent, event: {type: order.payd}, transition: four}
- {id: four, type: consumeEvent, event: {type: order.payd}}
)";
  const auto notes = [&](const MakesType& makes_type) {
    Findings findings;
    lint(parse_document(kListens, findings).value(), findings, {.makes_type = makes_type});
    std::vector<std::string> found;
    for (const Finding& one : findings.sorted()) {
      if (one.code == "lint.event_unknown") found.push_back(one.path + ": " + one.message);
    }
    return found;
  };
  EXPECT_THAT(notes([](std::string_view type) { return type == "order.placed"; }),
              ElementsAre("states[2].event.type: no source, inbound webhook or workflow of the "
                          "namespace makes events of the type \"order.payd\"; correct the type, "
                          "unless other programs publish these events"));
  EXPECT_THAT(notes(nullptr), IsEmpty()) << "nothing is known of the namespace";
}

}  // namespace
}  // namespace millrace
