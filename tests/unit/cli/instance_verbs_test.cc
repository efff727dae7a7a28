// The verbs of `instance`.
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
}

TEST_F(InstanceVerbs, CancelsAllInstancesAndPrintsTheCounts) {
  const CommandOutput one = run({"instance", "cancel", "--all"});
  EXPECT_EQ(one.code, 0);
  EXPECT_EQ(one.out, "done     1\nrefused  0\n");
  EXPECT_EQ(one.err, "");
}

TEST_F(InstanceVerbs, ShowsAnInstanceItsHistoryAndTheOutcomesOfCommands) {
  expect_outputs({
      {{"instance", "get", kId},
       "id         0190b5a4-7c1e-7f2a-8000-0123456789ab\nrevision   1\n"
       "startedAt  2021-09-01T12:00:00.000Z\nstate      wait\nstatus     waiting\n"
       "workflow   order\n\ninput:\n{}\n"},
      {{"instance", "history", kId},
       "TIME                      KIND     STATE  DETAIL\n"
       "2021-09-01T12:00:00.000Z  started  -      {\"by\":\"call\",\"revision\":1}\n"},
      {{"instance", "cancel", kId}, "cancelled  true\nid         " + std::string(kId) + "\n"},
      {{"instance", "rerun", kId, "--from", "pay"},
       "from  pay\nid    " + std::string(kId) + "\nrun   2\n"},
      {{"instance", "retry", "--workflow", "order"}, "done     1\nrefused  0\n"},
      {{"instance", "delete", kId}, "deleted  true\nid       " + std::string(kId) + "\n"},
  });
}

}  // namespace
}  // namespace millrace
