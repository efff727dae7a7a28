// The verbs of `event`.
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

class EventVerbs : public CliTest {};

TEST_F(EventVerbs, SendsEvents) {
  const CommandOutput printed = run({"event", "send", "--type", "order.placed", "--source", "shop",
                                     "--id", "7", "--subject", "a", "--data", R"([1,{"a":2}])",
                                     "--attr", "region=eu", "--attr", "time=2021-09-01T12:00:00Z"});
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_EQ(printed.out, "duplicates  0\nid          7\nnew         1\n");
  ASSERT_EQ(service_.published().size(), 1);
  const Event event = service_.published()[0];
  EXPECT_EQ(event.type, "order.placed");
  EXPECT_EQ(event.source, "shop");
  EXPECT_EQ(event.id, "7");
  EXPECT_EQ(event.subject, "a");
  EXPECT_EQ(event.time, "2021-09-01T12:00:00Z");
  EXPECT_EQ(payload(event), Json::parse(R"([1,{"a":2}])"));
  EXPECT_EQ(event.extensions.at("region"), AttributeValue("eu"));

  EXPECT_EQ(run({"event", "send", "--type", "t", "--source", "s", "--data", "-"}, "\xff\x01").code,
            0);
  EXPECT_EQ(service_.published()[1].data, "\xff\x01");
  EXPECT_TRUE(parse_instance_id(service_.published()[1].id)) << "the id is a new UUID";

  const std::string whole = R"({"specversion":"1.0","id":"8","source":"s","type":"t"})";
  EXPECT_EQ(run({"event", "send", "-f", file("event.json", whole)}).code, 0);
  EXPECT_EQ(run({"event", "send", "-f", "-"}, "[" + whole + "," + whole + "]").out,
            "duplicates  2\nnew         0\n");
  EXPECT_EQ(service_.published().size(), 5);
}

TEST_F(EventVerbs, SaysThatTheStreamHadAnEventBefore) {
  const std::vector<std::string> send = {"event",    "send", "--type", "order.placed",
                                         "--source", "shop", "--id",   "7"};
  EXPECT_EQ(run(send).err, "");
  const CommandOutput again = run(send);
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(again.out, "duplicates  1\nid          7\nnew         0\n");
  EXPECT_EQ(
      again.err,
      "1 of 1 event was dropped: the stream has an event with the same source and id already, "
      "and an event takes effect once\n");
  std::vector<std::string> for_programs = send;
  for_programs.insert(for_programs.end(), {"-o", "json"});
  EXPECT_EQ(Json::parse(run(for_programs).out),
            (Json{{"accepted", 1}, {"duplicates", 1}, {"id", "7"}, {"new", 0}}));
}

TEST_F(EventVerbs, RefusesMalformedEvents) {
  const std::vector<std::string> base = {"event", "send", "--type", "t", "--source", "s"};
  const std::vector<std::vector<std::string>> rows = {
      {"--data", "hello"}, {"--data", "@/does/not/exist"}, {"--attr", "x"}, {"--attr", "Region=eu"},
      {"--attr", "id=7"},  {"--attr", "time=now"},         {"-f", "-"},
  };
  for (const auto& row : rows) {
    std::vector<std::string> arguments = base;
    arguments.insert(arguments.end(), row.begin(), row.end());
    EXPECT_EQ(run(arguments).code, 2) << row[1];
  }
  EXPECT_EQ(run({"event", "send", "--type", "t"}).code, 2);
  const CommandOutput bad = run({"event", "send", "-f", "-"}, "{}");
  EXPECT_EQ(bad.code, 1);
  EXPECT_NE(bad.err.find("specversion"), std::string::npos) << bad.err;
  EXPECT_TRUE(service_.published().empty());
}

}  // namespace
}  // namespace millrace
