// The verbs of `dlq`.
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

class DlqVerbs : public CliTest {};

TEST_F(DlqVerbs, ListDeadLetters) {
  expect_outputs({
      {{"dlq", "list"},
       "ID  AGE  REASON      SUBJECT                    SIZE  DETAIL\n"
       "12  5m   event.time  millrace.events.default.x  3     no time\n"
       "11  5m   event.time  millrace.events.default.x  3     no time\n"},
      {{"dlq", "list", "--limit", "1", "-o", "name"}, "12\n"},
  });
  ASSERT_EQ(run({"dlq", "list", "--reason", "event.time", "--cursor", "40"}).code, 0);
  EXPECT_EQ(service_.dead_letters.last_filter().reason, "event.time");
  EXPECT_EQ(service_.dead_letters.last_filter().before, 40U);
  ASSERT_EQ(run({"dlq", "list", "--source", "orders"}).code, 0);
  EXPECT_EQ(service_.dead_letters.last_filter().source, "orders");
}

TEST_F(DlqVerbs, ShowADeadLetter) {
  const CommandOutput shown = run({"dlq", "show", "12"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("ce-id"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("AP8Q"), std::string::npos) << shown.out;
  EXPECT_EQ(run({"dlq", "show", "13"}).code, 3);
  EXPECT_EQ(run({"dlq", "show"}).code, 2);
}

TEST_F(DlqVerbs, ReplayOneAsItIsOrCorrected) {
  const CommandOutput cut = run({"dlq", "replay", "11"});
  EXPECT_EQ(cut.code, 1);
  EXPECT_NE(cut.err.find("send the whole event"), std::string::npos) << cut.err;
  const std::string event =
      file("event.json", R"({"specversion":"1.0","id":"8","source":"s","type":"t"})");
  EXPECT_EQ(run({"dlq", "replay", "11", "-f", event, "-o", "name"}).out, "11\n");
  ASSERT_TRUE(service_.dead_letters.last_corrected());
  EXPECT_EQ(service_.dead_letters.last_corrected()->id, "8");
  EXPECT_EQ(run({"dlq", "replay", "12"}).out, "event     e-1\nid        12\nsequence  19\n");
  EXPECT_FALSE(service_.dead_letters.last_corrected());
}

TEST_F(DlqVerbs, ReplayAllOfAReason) {
  pauses_ = 1;
  const CommandOutput printed = run({"dlq", "replay", "--reason", "event.time", "-o", "json"});
  EXPECT_EQ(printed.code, 1) << "one is refused";
  const Json answer = Json::parse(printed.out);
  EXPECT_EQ(answer["done"], 1);
  EXPECT_EQ(answer["left"], 1);
  ASSERT_EQ(answer["refused"].size(), 1U);
  EXPECT_EQ(answer["refused"][0]["id"], "11");
  EXPECT_EQ(service_.dead_letters.last_reason(), "event.time");
}

TEST_F(DlqVerbs, ShowTheProgressOfAReplayOfManyOnATerminal) {
  err_terminal_ = true;
  EXPECT_EQ(run({"dlq", "replay", "--all"}).err, "\r0 replayed, 1 refused, 2 left \n")
      << "the user presses Ctrl-C after the first page";
  pauses_ = 1;
  const CommandOutput all = run({"dlq", "replay", "--all", "-o", "name"});
  EXPECT_EQ(all.code, 1) << "one is refused";
  EXPECT_EQ(all.out, "1\n");
  EXPECT_EQ(all.err, "\r0 replayed, 1 refused, 2 left \r1 replayed, 1 refused, 1 left \n");
}

TEST_F(DlqVerbs, EndAReplayOfManyAtAnInterrupt) {
  EXPECT_EQ(run({"dlq", "replay", "--all"}).code, 130);
  EXPECT_EQ(service_.dead_letters.ids().size(), 2U) << "only the first page was asked for";
}

TEST_F(DlqVerbs, DropOneOrAll) {
  EXPECT_EQ(run({"dlq", "drop", "12", "-o", "name"}).out, "12\n");
  EXPECT_EQ(service_.dead_letters.ids(), std::set<uint64_t>{11});
  EXPECT_EQ(run({"dlq", "drop", "--reason", "event.time", "-o", "name"}).out, "1\n");
  EXPECT_EQ(service_.dead_letters.last_reason(), "event.time");
  EXPECT_TRUE(service_.dead_letters.ids().empty());
}

TEST_F(DlqVerbs, RefuseAnUnclearChoice) {
  const std::vector<std::vector<std::string>> rows = {
      {"dlq", "replay"},
      {"dlq", "drop"},
      {"dlq", "drop", "12", "--all"},
      {"dlq", "replay", "--reason", "a", "--all"},
      {"dlq", "replay", "--reason", "a", "-f", "event.json"},
  };
  for (const auto& row : rows) EXPECT_EQ(run(row).code, 2) << row.back();
  EXPECT_EQ(service_.dead_letters.ids().size(), 2U);
}

}  // namespace
}  // namespace millrace
