// A definition within a scenario file.
#include "orchestrator/made_scenario/read_definition.h"

#include <gtest/gtest.h>

#include "language/document.h"

namespace millrace {
namespace {

Json item_of(const std::string& text) {
  Findings findings;
  const auto node = parse_document("workflows:\n" + text, findings);
  EXPECT_FALSE(findings.has_errors()) << text;
  return node ? to_json(*node)["workflows"][0] : Json();
}

TEST(ReadDefinition, KeepsTheTextOfTheAuthorWhereItKeepsItsMeaning) {
  struct Row {
    const char* text;
    bool is_kept;
  };
  const Row rows[] = {
      {"id: order\nstates:\n  - {id: end, type: noop} # the end\n", true},
      {"# first\nid: order\nstates:\n- id: end\n  type: noop\n  log: |\n    two\n    lines\n",
       true},
      {R"({"id": "order", "states": [{"id": "end", "type": "noop"}]})", true},
      {"id: order\n\nstates: [&a {id: end, type: noop}]\n", true},
      {"---\nid: order\nstates: [{id: end, type: noop}]\n", false},
  };
  for (const Row& row : rows) {
    const auto read = ReadDefinition::make(row.text);
    ASSERT_TRUE(read) << row.text;
    const std::string item = read->as_item();
    EXPECT_EQ(item == "  -\n" + indented(row.text, 4), row.is_kept) << item;
    EXPECT_EQ(item_of(item), read->json()) << item;
  }
}

TEST(ReadDefinition, FindsStatesFunctionsAndWords) {
  const auto read = ReadDefinition::make(
      "id: order\ndescription: not now\nfunctions: [{id: f, type: service, service: s}]\n"
      "states: [{id: a, type: delay, duration: PT1S}, {id: b, type: noop, log: 'jq(now + "
      ".now1)'}]");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->state("a")["duration"], "PT1S");
  EXPECT_TRUE(read->state("c").is_null());
  EXPECT_TRUE(read->has_function("f"));
  EXPECT_FALSE(read->has_function("s"));
  EXPECT_TRUE(read->has_word("now"));
  EXPECT_FALSE(read->has_word("not"));
  EXPECT_FALSE(read->has_word("no"));
}

}  // namespace
}  // namespace millrace
