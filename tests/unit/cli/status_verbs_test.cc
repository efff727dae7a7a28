// The verbs `status` and `version`.
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

class StatusVerbs : public CliTest {};

TEST_F(StatusVerbs, ReportsWhetherTheServerIsReady) {
  EXPECT_EQ(run({"status", "-o", "name"}).out, "ready\n");
  service_.ready_status = fail("broker.unreachable", "NATS is away");
  const CommandOutput printed = run({"status"});
  EXPECT_EQ(printed.code, 1);
  EXPECT_EQ(printed.err, "millrace: NATS is away\n");
  stop_gateway();
  EXPECT_EQ(run({"status"}).code, 5);
}

TEST_F(StatusVerbs, PrintsTheVersion) {
  expect_outputs({
      {{"version"}, "millrace 0.1.0\n"},
      {{"version", "-o", "json"}, "{\n  \"version\": \"0.1.0\"\n}\n"},
      {{"version", "-o", "name"}, "0.1.0\n"},
  });
}

}  // namespace
}  // namespace millrace
