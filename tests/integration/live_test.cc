// Live messages of a running server: the records of an instance are followed until it ends, and the
// calls about work answer with what really waits.
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
constexpr std::string_view kFailsSoon = R"(id: short
states:
  - id: pause
    type: delay
    duration: PT2S
  - id: fail
    type: error
    error: no.luck
    message: none
)";

class Live : public MillraceTest {};

TEST_F(Live, FollowsAnInstanceUntilItHasEnded) {
  millrace_.apply(R"(id: short
states:
  - id: pause
    type: delay
    duration: PT1S
)");
  const std::string id = millrace_.start_instance("short", Json::object());
  const ProcessEnd end = millrace_.cli({"instance", "follow", id, "-o", "jsonl"});
  EXPECT_EQ(end.code, 0) << end.errors;
  EXPECT_THAT(end.output, HasSubstr("\"kind\":\"started\""));
  EXPECT_THAT(end.output, HasSubstr("\"kind\":\"ended\""));
}

TEST_F(Live, RefusesToFollowAnUnknownInstance) {
  const ProcessEnd end =
      millrace_.cli({"instance", "follow", "0190b5a4-7c1e-7f2a-8000-0123456789ab"});
  EXPECT_EQ(end.code, 3);
  EXPECT_THAT(end.errors, HasSubstr("instance.not_found"));
}

TEST_F(Live, ReportsThatTheFollowedInstanceHasFailed) {
  millrace_.apply(std::string(kFailsSoon));
  const std::string id = millrace_.start_instance("short", Json::object());
  EXPECT_EQ(millrace_.cli({"instance", "follow", id}).code, 9);
}

TEST_F(Live, ShowsWhatWaits) {
  millrace_.apply(std::string(kWaitsForGo));
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
