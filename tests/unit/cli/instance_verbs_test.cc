// The verbs of `instance`.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

class InstanceVerbs : public CliTest {};

TEST_F(InstanceVerbs, PassesTheFilterToTheServer) {
  EXPECT_EQ(run({"instance", "list", "--workflow", "order", "--status", "failed", "--since", "5m",
                 "--limit", "7", "--cursor", "a+b"})
                .code,
            0);
  EXPECT_EQ(service_.last_filter().workflow, "order");
  EXPECT_EQ(service_.last_filter().statuses, std::vector{InstanceStatus::kFailed});
  EXPECT_EQ(service_.last_filter().since, from_millis(1630497600000));
  EXPECT_EQ(service_.last_filter().limit, 7);
  EXPECT_EQ(service_.last_filter().cursor, "a+b");
  EXPECT_EQ(run({"instance", "list", "--since", "yesterday"}).code, 2);
  EXPECT_EQ(run({"instance", "list", "--since", "60"}).code, 2) << "a number without a unit";
}

TEST_F(InstanceVerbs, CancelsAllInstancesAndPrintsTheCounts) {
  const CommandOutput one = run({"instance", "cancel", "--all"});
  EXPECT_EQ(one.code, 0);
  EXPECT_EQ(one.out, "done     1\nrefused  0\n");
  EXPECT_EQ(one.err, "");
}

TEST_F(InstanceVerbs, CountsThePendingStartsThatACancelHasDropped) {
  service_.pending_starts = 3;
  EXPECT_EQ(run({"instance", "cancel", "--workflow", "order"}).out,
            "done           1\npendingStarts  3\nrefused        0\n");
  EXPECT_EQ(run({"instance", "pause", "--workflow", "order"}).out, "done     1\nrefused  0\n");
}

TEST_F(InstanceVerbs, StopsACommandOnManyInstancesAtAnInterrupt) {
  service_.has_further_page = true;
  const CommandOutput stopped = run({"instance", "cancel", "--all"});
  EXPECT_EQ(stopped.code, 130);
  EXPECT_EQ(stopped.out, "done     1\nrefused  0\n");
  EXPECT_EQ(stopped.err, "stopped; the other instances are unchanged\n");
  pauses_ = 1;
  const CommandOutput all = run({"instance", "cancel", "--all"});
  EXPECT_EQ(all.code, 0);
  EXPECT_EQ(all.out, "done     2\nrefused  0\n");
}

TEST_F(InstanceVerbs, ShowsTheProgressOfACommandOnManyInstancesOnATerminal) {
  service_.has_further_page = true;
  err_terminal_ = true;
  pause_ = [this](Duration) {
    time_ += std::chrono::milliseconds(500);  // the next page takes so long
    return true;
  };
  const CommandOutput all = run({"instance", "cancel", "--all"});
  EXPECT_EQ(all.code, 0);
  EXPECT_EQ(all.out, "done     2\nrefused  0\n");
  EXPECT_EQ(all.err, "\r2 done\n") << "the first page came at once";
  err_terminal_ = false;
  EXPECT_EQ(run({"instance", "cancel", "--all"}).err, "");
}

TEST_F(InstanceVerbs, EndsTheProgressOfACommandOnManyInstancesAtAnInterrupt) {
  service_.has_further_page = true;
  err_terminal_ = true;
  now_ = [this] { return time_ += std::chrono::milliseconds(500); };
  const CommandOutput stopped = run({"instance", "cancel", "--all"});
  EXPECT_EQ(stopped.code, 130);
  EXPECT_EQ(stopped.out, "done     1\nrefused  0\n");
  EXPECT_EQ(stopped.err, "\r1 done\nstopped; the other instances are unchanged\n");
}

TEST_F(InstanceVerbs, DeletesTheEndedInstancesThatTheOptionsSelect) {
  using enum InstanceStatus;
  EXPECT_EQ(run({"instance", "delete", "--workflow", "order", "--status", "failed,timedout",
                 "--before", "5m"})
                .out,
            "deleting  true\n");
  EXPECT_EQ(service_.last_deletion().workflow, "order");
  EXPECT_EQ(service_.last_deletion().statuses, (std::vector{kFailed, kTimedOut}));
  EXPECT_EQ(service_.last_deletion().before, from_millis(1630497600000));
  EXPECT_EQ(run({"instance", "delete", "--all"}).code, 0);
  EXPECT_EQ(service_.last_deletion().workflow, "");
  EXPECT_EQ(service_.last_deletion().statuses,
            (std::vector{kComplete, kFailed, kCancelled, kTimedOut}));
  EXPECT_EQ(service_.last_deletion().before, std::nullopt);
}

TEST_F(InstanceVerbs, SaysIfNoInstanceMatchesTheFilterOfADeletion) {
  const CommandOutput none = run({"instance", "delete", "--workflow", "unused"});
  EXPECT_EQ(none.code, 0);
  EXPECT_EQ(none.out, "deleting  false\n");
  EXPECT_EQ(none.err, "no ended instance matches the filter, so nothing is deleted\n");
  EXPECT_EQ(run({"instance", "delete", "--workflow", "order"}).err, "");
}

TEST_F(InstanceVerbs, DeleteNeedsEitherAnIdOrASelection) {
  const std::vector<std::vector<std::string>> wrong = {{"instance", "delete"},
                                                       {"instance", "delete", kId, "--all"},
                                                       {"instance", "delete", "--all", "--damaged"},
                                                       {"instance", "delete", "--before", "now"}};
  for (const std::vector<std::string>& arguments : wrong) {
    EXPECT_EQ(run(arguments).code, 2) << arguments.back();
  }
  EXPECT_EQ(run({"instance", "delete", "--status", "failed,waiting"}).code, 1);
}

TEST_F(InstanceVerbs, ShowsAnInstanceWithTheDeepestDataThatIsAccepted) {
  const std::string deepest = std::string(kMaxJsonDepth, '[') + std::string(kMaxJsonDepth, ']');
  service_.instance_input = parse_json(deepest).value();
  const CommandOutput shown = run({"instance", "get", kId, "-o", "json"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  const Result<Json> instance = parse_own_json(shown.out);
  ASSERT_TRUE(instance) << instance.error().message;
  EXPECT_EQ(dump_json(instance->at("input")), deepest);
}

TEST_F(InstanceVerbs, ShowsAnInstanceItsHistoryAndTheOutcomesOfCommands) {
  expect_outputs({
      {{"instance", "get", kId},
       "attempt      0\nid           0190b5a4-7c1e-7f2a-8000-0123456789ab\nrevision     1\n"
       "startedAt    2021-09-01T12:00:00.000Z\nstate        wait\nstatus       waiting\n"
       "transitions  1\nworkflow     order\n\ninput:\n{}\n\ndata:\n{}\n"},
      {{"instance", "history", kId},
       "TIME                      KIND     STATE  DETAIL\n"
       "2021-09-01T12:00:00.000Z  started  -      {\"by\":\"call\",\"revision\":1}\n"},
      {{"instance", "history", kId, "--newest", "--limit", "1", "-o", "name"}, "started\n"},
      {{"instance", "cancel", kId}, "cancelled  true\nid         " + std::string(kId) + "\n"},
      {{"instance", "rerun", kId, "--from", "pay"}, "id   " + std::string(kId) + "\nrun  2\n"},
      {{"instance", "compensate", kId, "--past"}, "id    " + std::string(kId) + "\nleft  1\n"},
      {{"instance", "retry", "--workflow", "order"}, "done     1\nrefused  0\n"},
      {{"instance", "delete", kId}, "deleted  true\nid       " + std::string(kId) + "\n"},
  });
}

TEST_F(InstanceVerbs, SaysWhyACancelOrAPauseHasChangedNothing) {
  service_.refuses_changes = true;
  service_.instance_status = "paused";
  const CommandOutput paused = run({"instance", "pause", kId});
  EXPECT_EQ(paused.code, 0);
  EXPECT_EQ(paused.err, fmt::format("nothing is changed: the instance is already paused; `millrace "
                                    "-n default instance why {}` shows what resumes it\n",
                                    kId));
  service_.instance_status = "waiting";
  service_.instance_cancelling = {{"tasks", 2}, {"since", "2021-09-01T12:00:00.000Z"}};
  for (const char* const verb : {"cancel", "pause"}) {
    EXPECT_EQ(run({"instance", verb, kId}).err,
              fmt::format("nothing is changed: the instance is already being cancelled, since "
                          "2021-09-01T12:00:00.000Z, and ends when its running tasks have ended "
                          "(2); `millrace -n default instance cancel {} --now` does not wait for "
                          "them\n",
                          kId));
  }
  service_.instance_cancelling = {{"tasks", 1}};
  EXPECT_NE(run({"instance", "cancel", kId}).err.find("its running task has ended (1)"),
            std::string::npos);
  service_.instance_cancelling = nullptr;
  EXPECT_EQ(run({"instance", "cancel", kId}).err, "") << "the reason is not known";
}

TEST_F(InstanceVerbs, PrintsAScenarioInEachFormatAsItIs) {
  for (const char* const format : {"table", "json", "yaml", "name"}) {
    const CommandOutput printed =
        run({"instance", "scenario", FakeService::kInstance, "-o", format});
    EXPECT_EQ(printed.code, 0) << printed.err;
    EXPECT_EQ(printed.out, "scenarios:\n  - name: one\n") << format;
  }
  EXPECT_EQ(run({"instance", "scenario", "12"}).code, 3);
  EXPECT_EQ(run({"instance", "scenario"}).code, 2);
}

TEST_F(InstanceVerbs, NameTheNamespaceThatHasTheInstance) {
  const std::string id = "0190b5a4-7c1e-7f2a-8000-000000000000";
  for (const char* const verb : {"get", "why"}) {
    const CommandOutput none = run({"instance", verb, id});
    EXPECT_EQ(none.code, 3);
    EXPECT_EQ(none.err.find("other namespaces"), std::string::npos) << none.err;
  }
  ASSERT_EQ(run({"namespace", "create", "shop"}).code, 0);
  for (const char* const verb : {"get", "why"}) {
    const CommandOutput elsewhere = run({"instance", verb, id});
    EXPECT_EQ(elsewhere.code, 3);
    EXPECT_NE(elsewhere.err.find("; other namespaces have it: shop (-n shop)\n"), std::string::npos)
        << elsewhere.err;
  }
}

}  // namespace
}  // namespace millrace
