// What a node does behind an end of the log that may be lost, and which of two processes with one
// node id takes another one.
#include "cluster/log_recovery.h"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/node_twin.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using RecoveryWhat = LogRecovery::What;

/// The nodes `own`, `a` and `b`, which are registered.
std::vector<RegisteredNode> three_registered() {
  return {{"a", "http://a:8780"}, {"b", "http://b:8780"}, {"own", "http://own:8780"}};
}

RankedNode ranked(const char* node, LogRank rank) { return {.node = node, .rank = rank}; }

TEST(LogRecovery, RestoresWaitsOrBegins) {
  struct Row {
    const char* what;
    LogRank own;
    uint64_t stream_end;
    std::vector<RankedNode> answers;
    std::optional<RankedNode> seen;
    RecoveryWhat expected;
    const char* why;
  };
  const std::vector<Row> rows = {
      {"nothing is lost",
       {2, 100},
       100,
       {ranked("a", {2, 100}), ranked("b", {2, 99})},
       std::nullopt,
       RecoveryWhat::kNone,
       ""},
      {"nothing is lost, and all others are away",
       {2, 100},
       100,
       {},
       std::nullopt,
       RecoveryWhat::kNone,
       ""},
      {"the stream has more than this node",
       {2, 100},
       101,
       {},
       std::nullopt,
       RecoveryWhat::kNone,
       ""},
      {"this node has most",
       {2, 100},
       90,
       {ranked("a", {2, 95}), ranked("b", {1, 400})},
       std::nullopt,
       RecoveryWhat::kRestore,
       ""},
      {"another node has as much",
       {2, 100},
       90,
       {ranked("a", {2, 100}), ranked("b", {2, 90})},
       std::nullopt,
       RecoveryWhat::kRestore,
       ""},
      {"another node has more, and this one has more than the stream",
       {2, 100},
       90,
       {ranked("a", {2, 101}), ranked("b", {2, 90})},
       std::nullopt,
       RecoveryWhat::kWait,
       "node a at  has it up to message 101, in epoch 2; this node takes nothing over before"},
      {"another node has more than the stream and this node",
       {2, 100},
       100,
       {ranked("a", {3, 120}), ranked("b", {2, 90})},
       std::nullopt,
       RecoveryWhat::kWait,
       "it ends at message 100, and node a at  has it up to message 120, in epoch 3"},
      {"a registered node is away, and this node has more than the stream",
       {2, 100},
       90,
       {ranked("a", {2, 95})},
       std::nullopt,
       RecoveryWhat::kWait,
       "this node has it up to message 100, in epoch 2, and registered nodes that may have more do "
       "not answer: b at http://b:8780"},
      {"a registered node is away, and another one has more",
       {2, 100},
       100,
       {ranked("a", {2, 120})},
       std::nullopt,
       RecoveryWhat::kWait,
       "do not answer: b at"},
      {"a diverged node answers, and has another history",
       {2, 100},
       90,
       {ranked("a", {2, 95}), {.node = "b", .rank = {4, 500}, .is_diverged = true}},
       std::nullopt,
       RecoveryWhat::kRestore,
       ""},
      {"the node with more has answered before, and is away now",
       {2, 100},
       100,
       {ranked("a", {2, 100})},
       ranked("b", {2, 120}),
       RecoveryWhat::kWait,
       "node b at  has it up to message 120, in epoch 2, and registered nodes"},
      {"the node with more is not registered any more",
       {2, 100},
       100,
       {ranked("a", {2, 100})},
       ranked("c", {2, 120}),
       RecoveryWhat::kNone,
       ""},
      {"the log has again what another node had",
       {2, 120},
       120,
       {ranked("a", {2, 100})},
       ranked("b", {2, 120}),
       RecoveryWhat::kNone,
       ""},
      {"the node with more answers, and has less since",
       {2, 100},
       100,
       {ranked("b", {2, 90})},
       ranked("b", {2, 120}),
       RecoveryWhat::kNone,
       ""},
  };
  const std::vector<RegisteredNode> registered = three_registered();
  for (const Row& row : rows) {
    const LogRecovery plan = plan_recovery({.node = "own",
                                            .own = row.own,
                                            .stream_end = row.stream_end,
                                            .answers = row.answers,
                                            .registered = registered,
                                            .seen = row.seen});
    EXPECT_EQ(plan.what, row.expected) << row.what << ": " << plan.why;
    EXPECT_THAT(plan.why, HasSubstr(row.why)) << row.what;
    EXPECT_EQ(plan.why.empty(), row.expected != RecoveryWhat::kWait) << row.what;
  }
}

TEST(LogRecovery, LetsANodeThatIsAloneInItsClusterRestore) {
  EXPECT_EQ(plan_recovery({.node = "own", .own = {1, 10}, .stream_end = 5}).what,
            RecoveryWhat::kRestore);
}

TEST(LogRecovery, LetsExactlyOneHistoryWinIfTheFirstNodeWasSuspended) {
  // A commits up to 100 and is suspended, B has epoch 3 up to 200, the stream falls back to 95.
  const std::vector<RegisteredNode> registered = {{"a", ""}, {"b", ""}};
  const std::vector<RankedNode> both = {ranked("a", {2, 100}), ranked("b", {3, 200})};
  const auto plan_of = [&](const char* node, LogRank own, std::span<const RankedNode> answers) {
    return plan_recovery({.node = node,
                          .own = own,
                          .stream_end = 95,
                          .answers = answers,
                          .registered = registered})
        .what;
  };
  EXPECT_EQ(plan_of("a", {2, 100}, both), RecoveryWhat::kWait);
  EXPECT_EQ(plan_of("b", {3, 200}, both), RecoveryWhat::kRestore);
  EXPECT_EQ(plan_of("a", {2, 100}, std::span(both).first(1)), RecoveryWhat::kWait)
      << "B does not answer";
}

TEST(NodeTwin, GivesTheIdUpInAtMostOneOfTwoProcesses) {
  const NodeTwin low{.incarnation = {1}};
  const NodeTwin high{.incarnation = {2}};
  const NodeTwin active{.is_active = true, .incarnation = {9}};
  EXPECT_FALSE(gives_way(low, high));
  EXPECT_TRUE(gives_way(high, low));
  EXPECT_TRUE(gives_way(low, active));
  EXPECT_FALSE(gives_way(active, low));
  EXPECT_FALSE(gives_way(active, active));
}

}  // namespace
}  // namespace millrace
