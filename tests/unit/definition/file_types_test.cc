// The types of workflows and inbound files that are linted together.
#include "orchestrator/definition/file_types.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::IsEmpty;

constexpr const char* kOrder = R"(id: order
start: {type: event, event: {type: order.placed}}
states:
- {id: pay, type: consumeEvent, event: {type: order.paid}, transition: send}
- {id: send, type: generateEvent, event: {type: order.sent, source: a}}
)";

constexpr const char* kParcel = R"(id: parcel
start: {type: event, event: {type: order.sent}}
states: [{id: a, type: noop}]
)";

/// An inbound file with a source and an inbound webhook whose mappings make these types.
std::string inbound_text(const std::string& of_source, const std::string& of_webhook) {
  return fmt::format(
      "sources:\n"
      "  a.b:\n"
      "    stream: ORDERS\n"
      "    mapping: {{type: '{}'}}\n"
      "  carried: {{stream: OTHERS}}\n"
      "hooks:\n"
      "  pay:\n"
      "    verify: {{form: stripe, secrets: [stripe]}}\n"
      "    mapping:\n"
      "      type: '{}'\n",
      of_source, of_webhook);
}

std::string described_findings(const Findings& findings) { return render_text(findings, "file"); }

/// What is found in kOrder and in the inbound file if they are linted with kParcel.
struct Found {
  std::string order;
  std::string inbound;
};

Found found_in(const std::string& inbound_file, const Findings& of_parcel = {}) {
  const InboundFile inbound = parse_inbound_file(inbound_file);
  FileTypes types;
  types.add_definition(kOrder, {});
  types.add_definition(kParcel, of_parcel);
  types.add_inbound(inbound);
  Findings of_order;
  types.lint_definition(kOrder, of_order);
  Findings of_inbound;
  types.lint_inbound(inbound, of_inbound);
  Findings again;
  types.lint_definition(kParcel, again);
  EXPECT_EQ(described_findings(again), "") << "the workflow `order` generates order.sent";
  return {.order = described_findings(of_order), .inbound = described_findings(of_inbound)};
}

TEST(FileTypes, AreAllMadeAndAwaited) {
  for (const char* const type : {"order.paid", "order.jq(.data.kind)", "jq(.data.type)"}) {
    const Found found = found_in(inbound_text("order.placed", type));
    EXPECT_EQ(found.order, "") << type;
    EXPECT_EQ(found.inbound, "") << type;
  }
}

TEST(FileTypes, NameThePlaceOfATypeThatNothingMakesAndOfOneForWhichNothingListens) {
  const Found found = found_in(inbound_text("order.placd", "order.pay.jq(.data.kind)"));
  EXPECT_EQ(found.order,
            "file:2:36: warning: start.event.type: no source, inbound webhook or workflow of these "
            "files makes events of the type \"order.placed\"; correct the type, unless other "
            "programs publish these events [lint.event_unknown]\n"
            "file:4:47: warning: states[0].event.type: no source, inbound webhook or workflow of "
            "these files makes events of the type \"order.paid\"; correct the type, unless other "
            "programs publish these events [lint.event_unknown]\n");
  EXPECT_EQ(found.inbound,
            "file:4:21: warning: sources[\"a.b\"].mapping.type: no workflow of these files starts "
            "on the type \"order.placd\", or waits for such events; correct the type, or add the "
            "workflow [lint.event_unawaited]\n"
            "file:10:13: warning: hooks.pay.mapping.type: no workflow of these files starts on the "
            "types that this jq query makes, or waits for such events; correct the type, or add "
            "the workflow [lint.event_unawaited]\n");
}

TEST(FileTypes, AreNotJudgedIfAFileHasErrors) {
  const Found wrong_inbound = found_in("sources:\n  a:\n    strem: A\n");
  EXPECT_EQ(wrong_inbound.order, "");
  Findings wrong;
  wrong.error("definition.unknown_key", "start.evnt", {2, 1}, "there is no such key");
  const Found wrong_definition = found_in(inbound_text("order.placd", "order.payd"), wrong);
  EXPECT_EQ(wrong_definition.order, "");
  EXPECT_EQ(wrong_definition.inbound, "");
}

TEST(FileTypes, AreNotJudgedWithoutAMapping) {
  EXPECT_EQ(found_in("sources:\n  carried: {stream: OTHERS}\n").order, "")
      << "what the source carries is not known";
}

TEST(FileTypes, AreNotJudgedWithoutADefinition) {
  const InboundFile inbound = parse_inbound_file(inbound_text("order.placed", "order.paid"));
  FileTypes types;
  types.add_inbound(inbound);
  Findings findings;
  types.lint_inbound(inbound, findings);
  EXPECT_THAT(findings.sorted(), IsEmpty());
}

}  // namespace
}  // namespace millrace
