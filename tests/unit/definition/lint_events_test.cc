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
  lint_events(*document, findings);
  const std::vector<Finding> sorted = findings.sorted();
  ASSERT_EQ(sorted.size(), 1U);
  EXPECT_EQ(described(sorted.front()), "3:9 lint.group_unbounded");
}

}  // namespace
}  // namespace millrace
