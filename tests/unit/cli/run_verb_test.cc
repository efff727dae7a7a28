// The verb `run`.
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

class RunVerb : public CliTest {};

TEST_F(RunVerb, StartsAnInstanceAndPrintsItsId) {
  apply_order();
  EXPECT_EQ(run({"run", "order"}).out, "id  " + std::string(kId) + "\n");
  EXPECT_EQ(run({"run", "order", "--input", "[1]", "-o", "name"}).out, std::string(kId) + "\n");
  EXPECT_EQ(service_.starts().back().input, Json::array({1}));
  EXPECT_EQ(run({"run", "order", "--input", "@" + file("in", "no json")}).code, 0);
  EXPECT_EQ(service_.starts().back().input, Json("bm8ganNvbg=="));
  EXPECT_EQ(run({"run", "order", "--input", "-"}, R"({"a":1})").code, 0);
  EXPECT_EQ(service_.starts().back().input, (Json{{"a", 1}}));
  EXPECT_EQ(run({"run", "order", "--input", "{", "--wait"}).code, 2);
  EXPECT_EQ(run({"run"}).code, 2);
  EXPECT_EQ(run({"run", "none"}).code, 3);

  EXPECT_EQ(run({"run", "order", "--id", "k", "--input", "1"}).code, 0);
  EXPECT_EQ(run({"run", "order", "--id", "k", "--input", "1"}).code, 0);
  EXPECT_EQ(run({"run", "order", "--id", "k", "--input", "2"}).code, 6);
}

TEST_F(RunVerb, WaitsForTheEndOfTheInstance) {
  apply_order();
  service_.end_at_once("complete");
  const std::vector<std::vector<std::string>> spellings = {
      {"run", "order", "--wait"},        {"run", "--wait", "order"},
      {"run", "order", "--wait", "10s"}, {"run", "--wait", "PT10S", "order"},
      {"run", "--wait=10s", "order"},    {"run", "--wait", "order", "--input", "{}"},
  };
  for (const auto& arguments : spellings) {
    const CommandOutput printed = run(arguments);
    EXPECT_EQ(printed.code, 0) << printed.err;
    EXPECT_EQ(printed.out, "{\n  \"total\": 7\n}\n");
  }
  EXPECT_EQ(run({"run", "order", "--wait", "-o", "yaml"}).out, "total: 7\n");
  EXPECT_EQ(run({"run", "order", "--wait", "-o", "name"}).out, std::string(kId) + "\n");
  EXPECT_EQ(run({"run", "order", "--wait", "soon"}).code, 2);

  service_.end_at_once("failed");
  const CommandOutput failed = run({"run", "order", "--wait"});
  EXPECT_EQ(failed.code, 9);
  EXPECT_EQ(failed.out, "");
  EXPECT_EQ(failed.err,
            fmt::format("millrace: instance {} ended failed: order.lost: it is lost\n", kId));

  service_.wait_outcome = fail("wait.timeout", "it has not ended");
  const CommandOutput late = run({"run", "order", "--wait", "1ms"});
  EXPECT_EQ(late.code, 8);
  EXPECT_NE(late.err.find(kId), std::string::npos) << late.err;
}

TEST_F(RunVerb, SaysOnceThatTheInstanceHasNotEndedYet) {
  apply_order();
  service_.end_at_once("complete");
  // The server waits six times for ten seconds in a minute, which is one call of the command.
  constexpr size_t kTwoMinutes = 12;
  const Status late = fail("wait.timeout", "it has not ended");
  service_.first_wait_outcomes.assign(kTwoMinutes, late);
  const CommandOutput printed = run({"run", "order", "--wait"});
  EXPECT_EQ(printed.code, 0);
  EXPECT_EQ(printed.err, fmt::format("millrace: instance {0} has not ended yet; `millrace instance "
                                     "why {0}` says what it waits for\n",
                                     kId));
}

TEST_F(RunVerb, SendsNoKeyOfItsOwnToABatch) {
  apply_order();
  service_.batches_starts = true;
  const CommandOutput later = run({"run", "order", "--wait"});
  EXPECT_EQ(later.code, 8);
  EXPECT_NE(later.err.find("starts at 2021-09-01T12:05:00.000Z at the latest (`batch`)"),
            std::string::npos)
      << later.err;
  const CommandOutput refused = run({"run", "order", "--wait", "--id", "k"});
  EXPECT_NE(refused.code, 0);
  EXPECT_NE(refused.err.find("a batch keeps no key"), std::string::npos) << refused.err;
}

TEST_F(RunVerb, RefusesADurationWithoutAUnit) {
  apply_order();
  const std::vector<std::string> flags = {"--wait", "--execution-timeout", "--run-timeout",
                                          "--task-timeout"};
  for (const std::string& flag : flags) {
    const CommandOutput refused = run({"run", "order", flag + "=60"});
    EXPECT_EQ(refused.code, 2) << flag;
    EXPECT_NE(refused.err.find(flag + ": \"60\" ends in a number without a unit; expected a "
                                      "duration such as 60s or PT1M"),
              std::string::npos)
        << refused.err;
  }
  EXPECT_TRUE(service_.starts().empty());
  service_.end_at_once("complete");
  for (const std::string& flag : flags) {
    EXPECT_EQ(run({"run", "order", flag + "=60s"}).code, 0) << flag;
    EXPECT_EQ(run({"run", "order", flag + "=PT1M"}).code, 0) << flag;
  }
}

}  // namespace
}  // namespace millrace
