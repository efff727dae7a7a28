// Lists of more than one page.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

class PagesTest : public CliTest {};

TEST_F(PagesTest, ListsAllPagesInFormatsForProgramsAndOnePageInATable) {
  service_.instance_count = 620;
  const CommandOutput names = run({"instance", "list", "-o", "name"});
  EXPECT_EQ(std::count(names.out.begin(), names.out.end(), '\n'), 620);
  EXPECT_TRUE(names.out.ends_with("\n618\n619\n"));
  EXPECT_EQ(names.err, "");
  const CommandOutput lines = run({"instance", "list", "-o", "jsonl"});
  EXPECT_EQ(std::count(lines.out.begin(), lines.out.end(), '\n'), 620);
  const Json json = Json::parse(run({"instance", "list", "-o", "json"}).out);
  EXPECT_EQ(json["items"].size(), 620);
  EXPECT_EQ(json["items"][619]["id"], "619");
  EXPECT_EQ(json["next"], nullptr);
  EXPECT_EQ(
      Json::parse(run({"instance", "list", "-o", "json", "--cursor", "600"}).out)["items"].size(),
      20);

  service_.group_count = 620;
  const CommandOutput groups = run({"group", "list", "-o", "name"});
  EXPECT_EQ(std::count(groups.out.begin(), groups.out.end(), '\n'), 620);
  EXPECT_EQ(groups.err, "");

  const CommandOutput table = run({"instance", "list"});
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 51);
  EXPECT_EQ(table.err, "more results: --cursor 50\n");
  for (const char* format : {"name", "jsonl", "json", "yaml", "table"}) {
    EXPECT_EQ(run({"instance", "list", "--limit", "7", "-o", format}).err,
              "more results: --cursor 7\n")
        << format;
  }
}

TEST_F(PagesTest, SayThatAListMayLackSomethingThatNoPageHas) {
  for (const char* format : {"name", "jsonl", "json", "yaml", "table"}) {
    const CommandOutput cut = run({"instance", "list", "--key", "of many workflows", "-o", format});
    EXPECT_EQ(cut.code, 0) << format;
    EXPECT_EQ(cut.err,
              "some results may be missing: the server looks for a key in a bounded number of "
              "workflows; name one with --workflow\n")
        << format;
    EXPECT_EQ(run({"instance", "list", "--key", "order-1", "-o", format}).err, "") << format;
  }
}

}  // namespace
}  // namespace millrace
