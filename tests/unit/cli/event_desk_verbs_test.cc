// The verbs of `event` for stored events.
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

class EventDeskVerbs : public CliTest {};

TEST_F(EventDeskVerbs, ListEvents) {
  expect_outputs({
      {{"event", "list"},
       "SEQUENCE  AGE  TYPE          SOURCE  ID    EFFECTS\n"
       "18        5m   order.placed  shop    e-18  started 0190b5a4-7c1e-7f2a-8000-0123456789ab\n"
       "17        5m   order.placed  shop    e-17  -\n"},
      {{"event", "list", "-o", "name"}, "18\n17\n"},
  });
  ASSERT_EQ(run({"event", "list", "--type", "order.*", "--source", "shop", "--id", "7", "--since",
                 "2021-09-01T12:00:00Z", "--until", "2021-09-01T13:00:00Z", "--with-effect",
                 "--limit", "3", "--cursor", "9"})
                .code,
            0);
  const EventListFilter filter = service_.stored_events.last_filter();
  EXPECT_EQ(filter.type, "order.*");
  EXPECT_EQ(filter.source, "shop");
  EXPECT_EQ(filter.id, "7");
  EXPECT_EQ(filter.since, parse_rfc3339("2021-09-01T12:00:00Z").value());
  EXPECT_EQ(filter.until, parse_rfc3339("2021-09-01T13:00:00Z").value());
  EXPECT_EQ(filter.effect, true);
  EXPECT_EQ(filter.limit, 3U);
  EXPECT_EQ(filter.before, 9U);
  ASSERT_EQ(run({"event", "list", "--without-effect"}).code, 0);
  EXPECT_EQ(service_.stored_events.last_filter().effect, false);
  EXPECT_EQ(run({"event", "list", "--without-effect", "--with-effect"}).code, 2);
}

TEST_F(EventDeskVerbs, ShowOneEvent) {
  const CommandOutput shown = run({"event", "get", "18"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_NE(shown.out.find("\"total\": 7"), std::string::npos) << shown.out;
  EXPECT_EQ(run({"event", "get", "18", "-o", "name"}).out, "18\n");
  EXPECT_EQ(run({"event", "get", "17"}).code, 3);
  EXPECT_EQ(run({"event", "get"}).code, 2);
}

TEST_F(EventDeskVerbs, ReplayOneEvent) {
  expect_outputs({{{"event", "replay", "18"}, "id        replay-1\nsequence  19\n"}});
  EXPECT_EQ(run({"event", "replay", "18", "--to-workflow", "order", "-o", "name"}).out, "19\n");
  EXPECT_EQ(service_.stored_events.last_replay().target.workflow, "order");
  EXPECT_EQ(run({"event", "replay", "18", "--to-instance", kId}).code, 0);
  EXPECT_EQ(service_.stored_events.last_replay().target.instance, parse_instance_id(kId).value());
  EXPECT_EQ(run({"event", "replay", "18", "--same-id"}).code, 6);
  EXPECT_EQ(run({"event", "replay", "17"}).code, 3);
  EXPECT_EQ(run({"event", "replay", "18", "--to-workflow", "a", "--to-instance", kId}).code, 2);
}

TEST_F(EventDeskVerbs, ReplayARangeAndShowItsResult) {
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

TEST_F(EventDeskVerbs, StopTheReplayOfARangeAtAnInterrupt) {
  const CommandOutput stopped = run({"event", "replay", "--first", "1", "-o", "name"});
  EXPECT_EQ(stopped.code, 130) << stopped.err;
  EXPECT_EQ(stopped.out, "r1\n");
  EXPECT_TRUE(service_.stored_events.is_stopped());
}

TEST_F(EventDeskVerbs, RefuseAnUnclearReplay) {
  EXPECT_EQ(run({"event", "replay"}).code, 2);
  EXPECT_EQ(run({"event", "replay", "18", "--since", "2021-09-01T12:00:00Z"}).code, 2);
  EXPECT_EQ(run({"event", "replay", "--first", "1", "--same-id"}).code, 2);
  EXPECT_EQ(run({"event", "replay", "--first", "x"}).code, 2);
}

TEST_F(EventDeskVerbs, PrintEventsAsTheyCome) {
  const CommandOutput two = run({"event", "tail", "--count", "2"});
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(two.out,
            "2021-09-01T12:00:00.000Z  17  order.placed  shop  e-17  -\n"
            "2021-09-01T12:00:00.000Z  18  order.placed  shop  e-18  started "
            "0190b5a4-7c1e-7f2a-8000-0123456789ab\n");
  EXPECT_EQ(run({"event", "tail", "--count", "1", "-o", "name"}).out, "17\n");
  EXPECT_EQ(run({"event", "tail", "--count", "x"}).code, 2);
}

TEST_F(EventDeskVerbs, EndAtAnInterrupt) {
  pauses_ = 3;
  const CommandOutput ended = run({"event", "tail", "--type", "order.*", "-o", "name"});
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_EQ(ended.out, "17\n18\n") << "each event is printed once";
  EXPECT_EQ(pauses_, -1);
  const EventListFilter filter = service_.stored_events.last_filter();
  EXPECT_EQ(filter.after, 18U);
  EXPECT_EQ(filter.type, "order.*");
}

}  // namespace
}  // namespace millrace
