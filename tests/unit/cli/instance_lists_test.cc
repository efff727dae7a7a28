// The verbs of `instance` that list or count, and the conditions of its history.
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

class InstanceLists : public CliTest {};

TEST_F(InstanceLists, PassEveryConditionToTheServer) {
  const CommandOutput listed = run({"instance", "list",        "--status",      "failed,timedout",
                                    "--until",  "5m",          "--id",          "0190",
                                    "--key",    "o-1",         "--correlation", "c-1",
                                    "--parent", kId,           "--state",       "pay",
                                    "--error",  "card.*",      "--has",         "retrying,deadline",
                                    "--oldest", "--waits-for", "paid"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  const InstanceFilter filter = service_.last_filter();
  using enum InstanceStatus;
  EXPECT_EQ(filter.statuses, (std::vector{kFailed, kTimedOut}));
  EXPECT_EQ(filter.since, std::nullopt);
  EXPECT_EQ(filter.until, from_millis(1630497600000));
  EXPECT_EQ(filter.id, "0190");
  EXPECT_EQ(filter.key, "o-1");
  EXPECT_EQ(filter.correlation, "c-1");
  EXPECT_EQ(filter.parent, parse_instance_id(kId).value());
  EXPECT_EQ(filter.state, "pay");
  EXPECT_EQ(filter.error, "card.*");
  EXPECT_EQ(filter.traits, (std::vector{InstanceTrait::kRetrying, InstanceTrait::kDeadline}));
  EXPECT_EQ(filter.waits_for, "paid");
  EXPECT_TRUE(filter.oldest_first);
  EXPECT_EQ(run({"instance", "list", "--ended-since", "2h", "--ended-until", "1h"}).code, 0);
  EXPECT_EQ(service_.last_filter().ended_since, from_millis(1630490700000));
  EXPECT_EQ(service_.last_filter().ended_until, from_millis(1630494300000));
  EXPECT_EQ(run({"instance", "list"}).code, 0);
  EXPECT_FALSE(service_.last_filter().oldest_first);
  EXPECT_EQ(run({"instance", "list", "--until", "tomorrow"}).code, 2);
  EXPECT_EQ(run({"instance", "list", "--has", "children"}).code, 1);
}

TEST_F(InstanceLists, ShowWhatAnInstanceWaitsFor) {
  expect_outputs({
      {{"instance", "list", "--waits-for", "paid"},
       "INSTANCE                              WORKFLOW  STATUS   STATE  RUN  STARTED  ENDED  "
       "WAITS FOR\n"
       "0190b5a4-7c1e-7f2a-8000-0123456789ab  order     waiting  wait   -    5m       -      "
       "paid orderid=o-1742, sent region~^eu, and 2 more\n"},
  });
}

TEST_F(InstanceLists, ShowTheCallsAndTheTimesForWhichAnInstanceWaits) {
  const std::string begin =
      "INSTANCE                              WORKFLOW  STATUS   STATE  RUN  STARTED  ENDED  "
      "WAITS FOR\n"
      "0190b5a4-7c1e-7f2a-8000-0123456789ab  order     waiting  wait   -    5m       -      ";
  expect_outputs({
      {{"instance", "list", "--state", "ask"}, begin + "call approve (retrying), subflow remind\n"},
      {{"instance", "list", "--state", "each"}, begin + "12 calls of ship\n"},
      {{"instance", "list", "--state", "rest"}, begin + "delay until 2021-09-01T13:00:00.000Z\n"},
  });
}

TEST_F(InstanceLists, ShowTheListAgainOnceASecond) {
  const std::string once = run({"instance", "list"}).out;
  std::vector<Duration> pauses;
  pause_ = [&](Duration time) {
    pauses.push_back(time);
    return pauses.size() < 3;
  };
  const std::string clear = "\x1b[H\x1b[2J";
  EXPECT_EQ(run({"instance", "list", "--watch"}).out, clear + once + clear + once + clear + once);
  EXPECT_EQ(pauses, std::vector<Duration>(3, std::chrono::seconds(1)));
}

TEST_F(InstanceLists, ShowTheListAgainToAProgramOnlyIfItHasChanged) {
  service_.instance_count = 2;
  size_t pauses = 0;
  pause_ = [&](Duration) {
    ++pauses;
    if (pauses == 2) service_.instance_count = 3;
    return pauses < 4;
  };
  EXPECT_EQ(run({"instance", "list", "--watch", "-o", "name"}).out, "0\n1\n0\n1\n2\n");
  EXPECT_EQ(pauses, 4U);
}

TEST_F(InstanceLists, EndAWatchIfTheServerCannotBeReached) {
  pause_ = [&](Duration) {
    stop_gateway();
    return true;
  };
  EXPECT_EQ(run({"instance", "list", "--watch"}).code, 5);
}

TEST_F(InstanceLists, CountInstances) {
  env_["NO_COLOR"] = "1";
  expect_outputs({
      {{"instance", "count"},
       "WORKFLOW  STATUS   COUNT\norder     waiting  12\norder     failed   1\n"},
      {{"instance", "count", "--by", "status"}, "STATUS   COUNT\nwaiting  12\nfailed   1\n"},
      {{"instance", "count", "-o", "name"}, "order waiting 12\norder failed 1\n"},
      {{"instance", "count", "--by", "status", "-o", "name"}, "waiting 12\nfailed 1\n"},
      {{"instance", "count", "--by", "revision,state", "--workflow", "order", "--status",
        "failed,waiting", "-o", "name"},
       "- - 12\n- - 1\n"},
  });
  const CountRequest request = service_.last_count_request();
  EXPECT_EQ(request.by, (std::vector{CountField::kRevision, CountField::kState}));
  EXPECT_EQ(request.workflow, "order");
  EXPECT_EQ(request.statuses, (std::vector{InstanceStatus::kFailed, InstanceStatus::kWaiting}));
  ASSERT_EQ(run({"instance", "count", "--state", "pay"}).code, 0);
  EXPECT_EQ(service_.last_count_request().state, "pay");
  EXPECT_EQ(run({"instance", "count", "--by", "colour"}).code, 1);
}

TEST_F(InstanceLists, PassTheConditionsOnTheRecordsOfAHistory) {
  EXPECT_EQ(
      run({"instance", "history", kId, "--kind", "entered,raised", "--after", "3", "--before", "9"})
          .code,
      0);
  const HistoryFilter filter = service_.last_history_filter();
  EXPECT_EQ(filter.kinds, (std::vector{HistoryKind::kEntered, HistoryKind::kRaised}));
  EXPECT_EQ(filter.after, 3U);
  EXPECT_EQ(filter.before, 9U);
  EXPECT_EQ(run({"instance", "history", kId, "--kind", "left"}).code, 1);
}

TEST_F(InstanceLists, ShowTheCallsAndTheChildrenOfAnInstance) {
  expect_outputs({
      {{"instance", "calls", kId},
       "CALL  FUNCTION  STATUS    ATTEMPT  WORK                                  NEXT  ERROR\n"
       "0     charge    retrying  2        0190b5a4-7c1e-7f2a-8000-0123456789ab  -     -\n"},
      {{"instance", "children", kId, "-o", "name"}, std::string(kId) + "\n"},
  });
  EXPECT_EQ(run({"instance", "calls"}).code, 2);
}

}  // namespace
}  // namespace millrace
