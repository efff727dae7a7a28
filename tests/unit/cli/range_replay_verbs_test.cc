// The verbs about replays of ranges: `event replay` with the options of a range, and `replay`.
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

class RangeReplayVerbs : public CliTest {};

TEST_F(RangeReplayVerbs, ReplayARangeAndShowItsResult) {
  pauses_ = 5;
  const CommandOutput done =
      run({"event", "replay", "--since", "2021-09-01T12:00:00Z", "--until", "2021-09-01T13:00:00Z",
           "--type", "order.*", "--source", "shop", "--last", "90", "--rate", "50", "--to-instance",
           kId, "--dry-run", "-o", "json"});
  EXPECT_EQ(done.code, 0) << done.err;
  const Json replay = Json::parse(done.out);
  EXPECT_EQ(replay["state"], "done");
  EXPECT_EQ(replay["sent"], 10);
  const RangeReplay range = service_.stored_events.last_range();
  EXPECT_EQ(range.since, parse_rfc3339("2021-09-01T12:00:00Z").value());
  EXPECT_EQ(range.until, parse_rfc3339("2021-09-01T13:00:00Z").value());
  EXPECT_EQ(range.type, "order.*");
  EXPECT_EQ(range.source, "shop");
  EXPECT_EQ(range.last, 90U);
  EXPECT_EQ(range.rate, 50U);
  EXPECT_EQ(range.target.instance, parse_instance_id(kId).value());
  EXPECT_TRUE(range.is_dry);
}

TEST_F(RangeReplayVerbs, SayWhatAReplayOfARangeWouldDo) {
  pauses_ = 5;
  const CommandOutput dry = run({"event", "replay", "--first", "1", "--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_EQ(dry.out,
            "Not sent: 10 events fit, of the sequences 1 to 18.\n"
            "Without --dry-run they are sent at 1000 events a second, in about 1 s.\n");
}

TEST_F(RangeReplayVerbs, ListShowAndStopReplaysOfRanges) {
  expect_outputs({
      {{"replay", "list"},
       "ID  STATE    AGE  DRY RUN  RANGE  TYPE  SOURCE  TO  MATCHED  SENT  POSITION  ERROR\n"
       "r1  running  5m   -        1-18   -     -       -   0        0     1         -\n"},
      {{"replay", "list", "-o", "name"}, "r1\n"},
      {{"replay", "stop", "r1"}, "id       r1\nstopped  true\n"},
      {{"replay", "list"},
       "ID  STATE    AGE  DRY RUN  RANGE  TYPE  SOURCE  TO  MATCHED  SENT  POSITION  ERROR\n"
       "r1  stopped  5m   -        1-18   -     -       -   0        0     1         -\n"},
  });
  EXPECT_TRUE(service_.stored_events.is_stopped());
  EXPECT_EQ(Json::parse(run({"replay", "show", "r1", "-o", "json"}).out)["state"], "stopped");
  for (const char* const verb : {"show", "stop"}) {
    const CommandOutput refused = run({"replay", verb, "r9"});
    EXPECT_EQ(refused.code, 3) << verb;
    EXPECT_NE(refused.err.find("no such replay"), std::string::npos) << refused.err;
  }
}

TEST_F(RangeReplayVerbs, ListWhyAReplaySendsNothingAndWhereItsEventsGo) {
  ASSERT_EQ(run({"replay", "show", "r1", "-o", "name"}).out, "r1\n");  // the replay goes on
  EXPECT_EQ(run({"replay", "list"}).out,
            "ID  STATE    AGE  DRY RUN  RANGE  TYPE  SOURCE  TO  MATCHED  SENT  POSITION  ERROR\n"
            "r1  running  5m   -        1-18   -     -       -   5        5     10        "
            "broker.unreachable\n");
}

TEST_F(RangeReplayVerbs, ShowTheProgressOfAReplayOfARangeOnATerminal) {
  err_terminal_ = true;
  pauses_ = 2;
  const CommandOutput done = run({"event", "replay", "--first", "1", "-o", "name"});
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.out, "r1\n");
  EXPECT_EQ(done.err,
            "\r\x1b[K50 %, 5 match, 5 sent, waits: broker.unreachable "
            "\r\x1b[K100 %, 10 match, 10 sent \n");
}

TEST_F(RangeReplayVerbs, BeginNoReplayOfARangeAfterAnInterrupt) {
  const CommandOutput none = run({"event", "replay", "--first", "1", "--type", "none"});
  EXPECT_EQ(none.code, 130) << none.err;
  EXPECT_EQ(service_.stored_events.last_range().type, "") << "nothing was asked for";
}

TEST_F(RangeReplayVerbs, StopTheReplayOfARangeAtAnInterrupt) {
  pauses_ = 1;  // before the request that begins it
  const CommandOutput stopped = run({"event", "replay", "--first", "1", "-o", "name"});
  EXPECT_EQ(stopped.code, 130) << stopped.err;
  EXPECT_EQ(stopped.out, "r1\n");
  EXPECT_TRUE(service_.stored_events.is_stopped());
}

}  // namespace
}  // namespace millrace
