// Live messages of a running server: the records of an instance are followed while they are made,
// events and dead letters are shown as they come, and the calls about work answer with what really
// waits. Instances go on only when the test sends an event, so no result depends on the load of the
// machine.
#include <gmock/gmock.h>

#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

using testing::HasSubstr;

constexpr std::string_view kWaitsForGo = R"(id: waiter
states:
  - id: wait
    type: consumeEvent
    timeout: PT1H
    event:
      type: go
)";
constexpr std::string_view kFailsAfterGo = R"(id: unlucky
states:
  - id: wait
    type: consumeEvent
    event:
      type: go
    transition: fail
  - id: fail
    type: error
    error: no.luck
    message: none
)";

class Live : public MillraceTest {
 protected:
  /// Starts `millrace instance follow`, and waits until it has shown that the instance waits.
  std::unique_ptr<Process> follow(const std::string& id) {
    auto follower = std::make_unique<Process>(
        ProcessSettings{.command = {millrace_program(), "instance", "follow", id, "-o", "jsonl"},
                        .environment = {{"MILLRACE_URL", millrace_.checked_url()}},
                        .input = ""});
    EXPECT_TRUE(eventually([&] { return shows(*follower, "entered"); }));
    EXPECT_FALSE(shows(*follower, "ended"));
    return follower;
  }
  static bool shows(const Process& follower, const std::string& kind) {
    return follower.output().find("\"kind\":\"" + kind + "\"") != std::string::npos;
  }
  void send_go() {
    const HttpReply reply = millrace_.ask(
        "POST", "events", R"({"specversion":"1.0","id":"1","source":"test","type":"go"})",
        {{"Content-Type", "application/cloudevents+json"}});
    ASSERT_EQ(reply.status, 202) << reply.body;
  }
};

TEST_F(Live, FollowsAnInstanceUntilItHasEnded) {
  millrace_.apply(kWaitsForGo);
  const std::string id = millrace_.start_instance("waiter", Json::object());
  const auto follower = follow(id);
  send_go();
  EXPECT_EQ(follower->wait(), 0) << follower->errors();
  follower->wait_for_streams();
  EXPECT_TRUE(shows(*follower, "started"));
  EXPECT_TRUE(shows(*follower, "ended"));
}

TEST_F(Live, RefusesToFollowAnUnknownInstance) {
  const ProcessEnd end =
      millrace_.cli({"instance", "follow", "0190b5a4-7c1e-7f2a-8000-0123456789ab"});
  EXPECT_EQ(end.code, 3);
  EXPECT_THAT(end.errors, HasSubstr("there is no instance"));
}

TEST_F(Live, ReportsThatTheFollowedInstanceHasFailed) {
  millrace_.apply(kFailsAfterGo);
  const std::string id = millrace_.start_instance("unlucky", Json::object());
  const auto follower = follow(id);
  send_go();
  EXPECT_EQ(follower->wait(), 9);
  follower->wait_for_streams();
  EXPECT_THAT(follower->output(), HasSubstr("no.luck"));
}

TEST_F(Live, ShowsEventsOnceTheyAreAppliedAndDeadLettersAsTheyCome) {
  millrace_.apply(kWaitsForGo);
  const std::string id = millrace_.start_instance("waiter", Json::object());
  millrace_.instance_once(id, "waiting");
  RawClient watcher(millrace_.checked_port());
  watcher.send(request_text(millrace_.checked_port(), "GET",
                            "/v1/ns/default/stream?topics=events,dead&type=g*", {}, ""));
  ASSERT_TRUE(watcher.read_reply(true));
  std::string text;
  const auto reads = [&](std::string_view expected) {
    while (text.find(expected) == std::string::npos) {
      const std::string next = watcher.read_bytes(1);
      if (next.empty()) return false;
      text += next;
    }
    return true;
  };
  ASSERT_TRUE(reads(R"("count":0)")) << text;
  send_go();
  ASSERT_TRUE(reads(R"("what":"woke")")) << text;
  ASSERT_TRUE(reads(id)) << text;
  const auto client = nats_.client();
  client->publish("millrace.events.default.go", R"({"specversion":"1.0","id":"2","type":"go"})");
  client->flush();
  ASSERT_TRUE(reads(R"("count":1)")) << text;
  ASSERT_TRUE(reads("event.missing_attribute")) << text;
}

TEST_F(Live, PrintsAnEventOnceItIsApplied) {
  Process tail(ProcessSettings{.command = {millrace_program(), "event", "tail", "--type", "go",
                                           "--count", "1", "-o", "name"},
                               .environment = {{"MILLRACE_URL", millrace_.checked_url()}},
                               .input = ""});
  send_go();
  EXPECT_EQ(tail.wait(), 0) << tail.errors();
  tail.wait_for_streams();
  EXPECT_EQ(tail.output(), "1\n");
}

TEST_F(Live, ShowsWhatWaits) {
  millrace_.apply(kWaitsForGo);
  const std::string id = millrace_.start_instance("waiter", Json::object());
  millrace_.instance_once(id, "waiting");
  const Json next = millrace_.ask("GET", "next").json();
  ASSERT_EQ(next["items"].size(), 1U) << next;
  EXPECT_EQ(next["items"][0]["kind"], "stateTimeout");
  EXPECT_EQ(next["items"][0]["instance"], id);
  EXPECT_EQ(millrace_.ask("GET", "workflows/waiter/graph").json()["states"][0]["waits"][0], "go");
  EXPECT_EQ(millrace_.ask("GET", "functions").json()["items"].size(), 0U);
  EXPECT_EQ(millrace_.ask("POST", "workflows/waiter/input", "{}").status, 200);
}

}  // namespace
}  // namespace millrace
