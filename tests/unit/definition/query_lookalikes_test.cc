#include "orchestrator/definition/query_lookalikes.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

struct Row {
  const char* text;
  const char* part;   ///< the part that looks like a query; null: no part does
  const char* query;  ///< the suggested query
};

TEST(QueryLookalikes, FindPathsAndPlaceholdersInAText) {
  for (const Row& row : {
           Row{".order.id", ".order.id", ".order.id"},
           Row{".[\"a b\"]", ".[\"a b\"]", ".[\"a b\"]"},
           Row{"$.order", "$.order", ".order"},
           Row{"$instance.id", "$instance.id", "$instance.id"},
           Row{"$instance", "$instance", "$instance"},
           Row{"$instances", nullptr, ""},
           Row{"jq (.order)", "jq (.order)", ".order"},
           Row{"order {{ .id }} came", "{{ .id }}", ".id"},
           Row{"order ${.id} came", "${.id}", ".id"},
           Row{"order $(.id) came", "$(.id)", ".id"},
           Row{"order ${id} came", nullptr, ""},
           Row{"an order.", nullptr, ""},
           Row{"...", nullptr, ""},
           Row{"", nullptr, ""},
       }) {
    const auto found = query_in_text(row.text);
    EXPECT_EQ(found.has_value(), row.part != nullptr) << row.text;
    if (!found || row.part == nullptr) continue;
    EXPECT_EQ(found->text, row.part);
    EXPECT_EQ(found->query, row.query);
  }
}

TEST(QueryLookalikes, FindAPathOrANameInBracketsThatIsTheWholePattern) {
  for (const Row& row : {
           Row{".order.id", ".order.id", ".order.id"},
           Row{".order[0].id", ".order[0].id", ".order[0].id"},
           Row{".order // \"none\"", ".order // \"none\"", ".order // \"none\""},
           Row{"{{id}}", "{{id}}", ".id"},
           Row{"${id}", "${id}", ".id"},
           Row{"$instance.id", "$instance.id", "$instance.id"},
           Row{".*", nullptr, ""},
           Row{".o+", nullptr, ""},
           Row{"\\${id}", nullptr, ""},
           Row{"^a{2}$", nullptr, ""},
       }) {
    const auto found = query_in_pattern(row.text);
    EXPECT_EQ(found.has_value(), row.part != nullptr) << row.text;
    if (!found || row.part == nullptr) continue;
    EXPECT_EQ(found->text, row.part);
    EXPECT_EQ(found->query, row.query);
  }
}

TEST(QueryLookalikes, EndAJqQueryAtItsClosingBracket) {
  const auto found = find_query("say jq( .a + \")\" ) now");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text, "jq( .a + \")\" )");
  EXPECT_EQ(found->query, ".a + \")\"");
  const auto open = find_query("say jq(.a");
  ASSERT_TRUE(open);
  EXPECT_EQ(open->text, "jq(.a");
  EXPECT_EQ(open->query, "") << "the query has no closing bracket";
  EXPECT_FALSE(find_query("say .a"));
}

TEST(QueryLookalikes, SuggestTheQueryIfItIsShort) {
  EXPECT_EQ(mend_of({.text = "$.a", .query = ".a"}), "write jq(.a)");
  EXPECT_EQ(mend_of({.text = "${", .query = ""}), "write jq(…) around the query");
  EXPECT_EQ(mend_of({.text = "x", .query = std::string(41, 'a')}), "write jq(…) around the query");
  EXPECT_EQ(text_as_query("a \"b\""), "jq(\"a \\\"b\\\"\")");
  EXPECT_EQ(text_as_query(std::string(41, 'a')), "jq(\"…\")");
}

}  // namespace
}  // namespace millrace
