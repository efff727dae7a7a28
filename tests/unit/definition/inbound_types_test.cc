// The types of inbound files beside workflows.
#include "orchestrator/definition/inbound_types.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "language/document.h"
#include "orchestrator/definition/lint.h"

namespace millrace {
namespace {

using testing::ElementsAre;

constexpr const char* kInbound = R"y(sources:
  orders: {stream: ORDERS, mapping: {type: order.placed}}
  carried: {stream: OTHERS}
hooks:
  pay:
    verify: {form: stripe, secrets: [stripe]}
    mapping: {type: stripe.jq(.data.type)}
)y";

constexpr const char* kListens = R"(
id: a
start: {type: event, event: {type: order.placed}}
states:
- {id: one, type: consumeEvent, event: {type: stripe.charge.paid}, transition: two}
- {id: two, type: consumeEvent, event: {type: order.payd}}
)";

TEST(InboundTypes, AreNotReportedAsUnknown) {
  Findings findings;
  lint(parse_document(kListens, findings).value(), findings,
       {.makes_type = [](std::string_view) { return false; }});
  MadeTypes made;
  const auto unknown = [&](const Findings& all) {
    std::vector<std::string> paths;
    for (const Finding& one : all.sorted()) {
      if (one.code == kUnknownEventType) paths.push_back(one.path);
    }
    return paths;
  };
  const size_t others = findings.sorted().size() - 3;
  EXPECT_THAT(unknown(without_made_types(findings, kListens, made)),
              ElementsAre("start.event.type", "states[0].event.type", "states[1].event.type"));
  const InboundFile file = parse_inbound_file(kInbound);
  ASSERT_FALSE(file.findings.has_errors()) << render_text(file.findings, "inbound.yaml");
  add_made_types(file.entries, made);
  const Findings kept = without_made_types(findings, kListens, made);
  EXPECT_THAT(unknown(kept), ElementsAre("states[1].event.type"));
  EXPECT_EQ(kept.sorted().size(), others + 1) << "other findings stay";
}

TEST(InboundTypes, HaveNoPlacesInATextThatIsNoDefinition) {
  EXPECT_TRUE(places_of_made_types("a: [", MadeTypes()).empty());
}

}  // namespace
}  // namespace millrace
