// Inbound files: sources and inbound webhooks as a file, with the position of each mistake.
#include "orchestrator/definition/inbound_file.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kBoth = R"y(sources:
  orders:
    stream: ORDERS
    subjects: [shop.orders.*]
    mapping:
      type: order.placed
hooks:
  pay:
    verify: {form: stripe, secrets: [stripe]}
    mapping:
      type: payment.jq(.data.type)
)y";

TEST(InboundFiles, AreKnownByTheirNames) {
  for (const char* const name :
       {"inbound.yaml", "inbound.yml", "inbound.json", "orders.inbound.yaml"}) {
    EXPECT_TRUE(is_inbound_file(name)) << name;
  }
  for (const char* const name :
       {"inbound.txt", "myinbound.yaml", "inbound.test.yaml", "inbound", "sources.yaml", ""}) {
    EXPECT_FALSE(is_inbound_file(name)) << name;
  }
}

TEST(InboundFiles, HaveSourcesAndInboundWebhooks) {
  const InboundFile file = parse_inbound_file(kBoth);
  EXPECT_EQ(render_text(file.findings, "inbound.yaml"), "");
  ASSERT_EQ(file.entries.size(), 2U);
  EXPECT_EQ(name_of(file.entries[0].kind, file.entries[0].name), "source \"orders\"");
  EXPECT_EQ(file.entries[0].settings["mapping"]["type"], "order.placed");
  EXPECT_EQ(name_of(file.entries[1].kind, file.entries[1].name), "inbound webhook \"pay\"");
  EXPECT_EQ(file.entries[1].settings["verify"]["form"], "stripe");

  EXPECT_TRUE(parse_inbound_file("sources:\n  # orders: …\n").entries.empty());
  EXPECT_FALSE(parse_inbound_file("sources:\n  # orders: …\n").findings.has_errors());
}

TEST(InboundFiles, NameThePositionOfAMistake) {
  const struct {
    const char* text;
    const char* finding;
  } rows[] = {
      {"sources:\n  orders:\n    stream: a.b\n",
       "f:3:13: error: sources.orders.stream: write the name of a stream"},
      {"sources:\n  orders:\n    stream: A\n    subjects:\n    - a.*\n    - a b\n",
       "f:6:7: error: sources.orders.subjects[1]: write a subject"},
      {"sources:\n  orders:\n    strem: A\n",
       "f:3:12: error: sources.orders.strem: unknown setting"},
      {"sources:\n  orders:\n    rate: 1\n", "f:2:3: error: sources.orders.stream: write the name"},
      {"sources:\n  orders: {stream: A, mapping: {type: x, id: one}}\n",
       "f:2:46: error: sources.orders.mapping.id: "},
      {"sources:\n  orders: {stream: A, consume: true}\n",
       "f:2:3: error: sources.orders.begin: with `consume`, write \"all\""},
      {"sources:\n  orders: ORDERS\n", "f:2:3: error: sources.orders: write a mapping with \"str"},
      {"sources: []\n", "f:1:1: error: sources: write a mapping of names"},
      {"sources:\n  a b: {stream: A}\n", "f:2:3: error: sources[\"a b\"]: the name has 1 to 128"},
      {"hooks:\n  git:\n    verify: {form: github, secrets: [a]}\n",
       "f:2:3: error: hooks.git.mapping: write an object"},
      {"hooks:\n  git:\n    verify:\n      form: gitlab\n      secrets: [a]\n    mapping: {type: "
       "x}\n",
       "f:4:13: error: hooks.git.verify.form: "},
      {"id: inbound\nstates: []\n", "f:1:1: error: id: unknown key; valid: sources, hooks. A file"},
      {"- sources\n", "f:1:1: error: write a mapping with \"sources\""},
      {"sources: [\n", "f:2:1: error: expected a value"},
      {"sources:\n  a: {stream: A}\n  a: {stream: B}\n", "f:3:3: error: "},
  };
  for (const auto& row : rows) {
    const InboundFile file = parse_inbound_file(row.text);
    EXPECT_THAT(render_text(file.findings, "f"), StartsWith(row.finding)) << row.text;
    EXPECT_TRUE(file.entries.empty()) << row.text;
  }
}

TEST(InboundFiles, NameThePositionOfWhatTheServerReports) {
  const InboundFile file = parse_inbound_file(kBoth);
  ASSERT_EQ(file.entries.size(), 2U);
  const InboundEntry& orders = file.entries[0];
  const InboundEntry& pay = file.entries[1];
  const struct {
    const InboundEntry& entry;
    Error error;
    const char* line;
  } rows[] = {
      {orders,
       {"settings.invalid", "mapping.type: jq(.a |): syntax error"},
       "f:6:13: error: sources.orders.mapping.type: jq(.a |): syntax error [settings.invalid]\n"},
      {orders,
       {"source.no_stream", "the broker has no stream \"ORDERS\": create it"},
       "f:3:13: error: sources.orders.stream: the broker has no stream \"ORDERS\": create it "
       "[source.no_stream]\n"},
      {orders,
       {"source.overlap", "the stream TAKEN has the subject shop.orders.*"},
       "f:4:15: error: sources.orders.subjects: the stream TAKEN has the subject shop.orders.* "
       "[source.overlap]\n"},
      {orders,
       {"busy", "too much: try again"},
       "f:2:3: error: sources.orders: too much: try again [busy]\n"},
      {pay,
       {"settings.invalid", "hooks.pay.verify.secrets[0]: the namespace has no secret"},
       "f:9:38: error: hooks.pay.verify.secrets[0]: the namespace has no secret "
       "[settings.invalid]\n"},
      {pay,
       {"settings.invalid", "hooks.payments.verify: write an object"},
       "f:8:3: error: hooks.pay: hooks.payments.verify: write an object [settings.invalid]\n"},
  };
  for (const auto& row : rows) {
    Findings findings;
    add_answer(findings, row.entry, Severity::kError, row.error);
    EXPECT_EQ(render_text(findings, "f"), row.line);
  }
  Findings warned;
  add_answer(warned, pay, Severity::kWarning,
             {"settings.doubtful", "hooks.pay.mapping.type: no workflow starts on it"});
  EXPECT_THAT(render_text(warned, "f"), HasSubstr("f:11:13: warning: hooks.pay.mapping.type: no"));
  EXPECT_FALSE(warned.has_errors());
}

}  // namespace
}  // namespace millrace
