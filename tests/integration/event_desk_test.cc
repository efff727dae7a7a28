// Stored events and dead letters on a real nats-server: they are listed, shown and replayed.
#include <csignal>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

constexpr const char* kOrder = R"(
id: order
start: {type: event, event: {type: order.placed}}
states:
- {id: done, type: noop}
)";
constexpr const char* kAudit = R"(
id: audit
start: {type: event, event: {type: order.placed}}
states:
- {id: done, type: noop}
)";

class EventDeskProgram : public MillraceTest {
 protected:
  void place(const std::string& id) {
    client_->publish("millrace.events.default.order.placed",
                     fmt::format(R"({{"specversion":"1.0","id":"{}","source":"/shop",)"
                                 R"("type":"order.placed","data":{{"total":7}}}})",
                                 id));
  }
  Json ask_json(std::string_view method, std::string_view path, int status,
                std::string_view body = "", const Headers& headers = {}) const {
    const HttpReply reply = millrace_.ask(method, path, body, headers);
    EXPECT_EQ(reply.status, status) << method << " " << path << ": " << reply.body;
    return reply.status == status ? reply.json() : Json::object();
  }

  std::unique_ptr<RawNatsClient> client_ = nats_.client();
};

TEST_F(EventDeskProgram, ListsShowsAndReplaysEvents) {
  millrace_.apply(kOrder);
  place("1");
  client_->publish("millrace.events.default.other",
                   R"({"specversion":"1.0","id":"2","source":"/shop","type":"other"})");
  client_->flush();
  ASSERT_TRUE(millrace_.has_instances("workflow=order&status=complete", 1));
  const std::string instance = millrace_.instances("workflow=order")[0]["id"];
  ASSERT_TRUE(
      eventually([&] { return millrace_.get("events")["items"][0].value("applied", false); }));

  const Json all = millrace_.get("events");
  ASSERT_EQ(all["items"].size(), 2U);
  EXPECT_EQ(all["complete"], true);
  EXPECT_EQ(all["items"][0]["id"], "2");
  EXPECT_EQ(all["items"][0]["effects"], Json::array());
  EXPECT_EQ(all["items"][1]["effects"], (Json{{{"what", "started"}, {"instance", instance}}}));
  EXPECT_EQ(millrace_.get("events?effect=without")["items"].size(), 1U);
  EXPECT_EQ(millrace_.get("events?type=order.*")["items"][0]["sequence"], 1);
  EXPECT_EQ(millrace_.get("events/1")["event"]["data"], (Json{{"total", 7}}));
  EXPECT_EQ(millrace_.ask("GET", "events/9").code(), "event.not_found");

  // For one workflow only, although both start with the event.
  millrace_.apply(kAudit);
  const ProcessEnd replayed =
      millrace_.cli({"event", "replay", "1", "--to-workflow", "audit", "-o", "name"});
  EXPECT_EQ(replayed.code, 0) << replayed.errors;
  EXPECT_EQ(replayed.output, "3\n");
  EXPECT_TRUE(millrace_.has_instances("workflow=audit&status=complete", 1));
  EXPECT_TRUE(millrace_.has_usage(0, 2));
  EXPECT_EQ(millrace_.get("events/3")["replayof"], "1");

  EXPECT_EQ(millrace_.ask("POST", "events/1/replay?id=same").code(), "event.id_known");
  ask_json("POST", "events/1/replay", 202);
  EXPECT_TRUE(millrace_.has_usage(0, 4)) << "both workflows have started another instance";

  const ProcessEnd tail = millrace_.cli({"event", "tail", "--count", "2", "-o", "name"});
  EXPECT_EQ(tail.output, "3\n4\n") << "the newest two";
}

TEST_F(EventDeskProgram, StopsAReplayOfARangeWhenItsTerminalIsClosed) {
  for (int i = 0; i < 300; ++i) place(std::to_string(i));
  client_->flush();
  const auto before = std::signal(SIGHUP, SIG_DFL);  // under `nohup` it is ignored, also there
  Process replay({.command = {millrace_program(), "event", "replay", "--first", "1", "--rate", "1"},
                  .environment = {{"MILLRACE_URL", millrace_.url()}}});
  std::signal(SIGHUP, before);
  const auto state = [&]() -> std::string {
    const Json listed = millrace_.items("replays");
    return listed.empty() ? "" : listed[0].value("state", "");
  };
  ASSERT_TRUE(eventually([&] { return state() == "running"; })) << "300 events take 300 s";
  replay.signal(SIGHUP);
  EXPECT_EQ(replay.wait(), 130);
  EXPECT_EQ(state(), "stopped");
  const ProcessEnd listed = millrace_.cli({"replay", "list", "-o", "json"});
  EXPECT_EQ(listed.code, 0) << listed.errors;
  EXPECT_EQ(Json::parse(listed.output)["items"][0]["state"], "stopped");
}

TEST_F(EventDeskProgram, ReplaysAnEventOnceThatARangeHasTwice) {
  millrace_.apply(kOrder);
  place("1");
  place("1");
  client_->flush();
  const Json duplicate = {{{"what", "duplicate"}}};
  ASSERT_TRUE(eventually([&] {
    const Json newest = millrace_.get("events")["items"][0];
    return newest["sequence"] == 2 && newest["effects"] == duplicate;
  })) << millrace_.get("events");
  ASSERT_TRUE(millrace_.has_usage(0, 1));
  ask_json("POST", "replays", 202, R"({"first": 1, "last": 2})");
  EXPECT_TRUE(eventually([&] { return millrace_.items("replays")[0]["state"] == "done"; }));
  EXPECT_EQ(millrace_.items("replays")[0]["sent"], 2);
  // An event behind both copies: when it is applied, they are.
  place("2");
  client_->flush();
  ASSERT_TRUE(eventually([&] { return millrace_.get("events")["items"][0]["id"] == "2"; }))
      << millrace_.get("events");
  EXPECT_TRUE(millrace_.has_usage(0, 3)) << "of the first event, its replay and the last event";
}

TEST_F(EventDeskProgram, CorrectsAndReplaysADeadLetter) {
  millrace_.apply(kOrder);
  client_->publish("millrace.events.default.order.placed",
                   R"({"specversion":"1.0","id":"1","type":"order.placed"})");
  client_->publish("millrace.events.default.order.placed", "no event");
  client_->flush();
  ASSERT_TRUE(eventually([&] { return millrace_.items("dlq").size() == 2; }));
  const Json letter = millrace_.items("dlq?reason=event.missing_attribute")[0];
  const Json found = millrace_.get("find?q=event.missing_attribute");
  ASSERT_EQ(found["items"].size(), 1U) << found;
  EXPECT_EQ(found["items"][0]["kind"], "deadLetter");
  EXPECT_EQ(found["items"][0]["id"], letter["id"]);
  EXPECT_EQ(found["complete"], true);
  const std::string path = "dlq/" + letter["id"].get<std::string>();
  EXPECT_EQ(millrace_.get(path)["data"], R"({"specversion":"1.0","id":"1","type":"order.placed"})");
  EXPECT_EQ(millrace_.ask("POST", path + "/replay").code(), "dlq.not_event");

  const Headers structured = {{"Content-Type", "application/cloudevents+json"}};
  const Json done = ask_json(
      "POST", path + "/replay", 200,
      R"({"specversion":"1.0","id":"1","source":"/shop","type":"order.placed"})", structured);
  EXPECT_EQ(done["event"], "1");
  EXPECT_TRUE(millrace_.has_instances("workflow=order&status=complete", 1));
  EXPECT_EQ(millrace_.ask("POST", path + "/replay").code(), "dlq.not_found");

  ASSERT_EQ(millrace_.items("dlq").size(), 1U);
  const Json all = ask_json("POST", "dlq/replay?all=1", 200);
  EXPECT_EQ(all["done"], 0);
  EXPECT_EQ(all["refused"].size(), 1U);
  EXPECT_EQ(all["left"], 1);
  const ProcessEnd dropped = millrace_.cli({"dlq", "drop", "--all", "-o", "name"});
  EXPECT_EQ(dropped.code, 0) << dropped.errors;
  EXPECT_EQ(dropped.output, "1\n");
  EXPECT_TRUE(millrace_.items("dlq").empty());
}

}  // namespace
}  // namespace millrace
