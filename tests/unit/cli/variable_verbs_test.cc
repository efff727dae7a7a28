// The verbs of `variable`.
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"

namespace millrace {
namespace {

class VariableVerbs : public CliTest {};

TEST_F(VariableVerbs, SetsAndGetsVariablesByteForByte) {
  EXPECT_EQ(run({"variable", "set", "hits", "7"}).code, 0);
  EXPECT_EQ(run({"variable", "get", "hits"}).out, "7") << "no byte is added";
  const std::string bytes("\0\xff\n", 3);
  EXPECT_EQ(run({"variable", "set", "logo", "--workflow", "order"}, bytes).code, 0);
  EXPECT_EQ(run({"variable", "get", "logo", "--workflow", "order"}).out, bytes);
  const std::string page = file("page.html", "<p>");
  EXPECT_EQ(
      run({"variable", "set", "page", "@" + page, "--type", "text/html", "--instance", kId}).code,
      0);
  EXPECT_EQ(run({"variable", "list", "-o", "name"}).out, "hits\n");
  const CommandOutput list = run({"variable", "list", "--instance", kId, "-o", "json"});
  EXPECT_EQ(Json::parse(list.out)["items"],
            (Json::array({{{"key", "page"}, {"size", 3}, {"contentType", "text/html"}}})));
  EXPECT_EQ(run({"variable", "list", "--workflow", "order", "-o", "table"}).out,
            "KEY   SIZE  CONTENT TYPE\nlogo  3     application/octet-stream\n");
  EXPECT_EQ(run({"variable", "delete", "hits"}).code, 0);
  EXPECT_EQ(run({"variable", "get", "hits"}).code, 3);
  EXPECT_EQ(run({"variable", "delete", "hits"}).code, 3);
}

TEST_F(VariableVerbs, RefusesMissingOrInvalidKeysTwoScopesAndValuesThatAreNotJson) {
  EXPECT_EQ(run({"variable", "set", "a", "text"}).code, 2) << "a string needs quotes";
  EXPECT_EQ(run({"variable", "get"}).code, 2);
  EXPECT_EQ(run({"variable", "get", "a", "--workflow", "w", "--instance", kId}).code, 2);
  EXPECT_EQ(run({"variable", "set", "1st", "1"}).code, 1);
}

}  // namespace
}  // namespace millrace
