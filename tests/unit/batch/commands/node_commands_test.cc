#include "orchestrator/batch/commands/node_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/node_rows.h"
#include "tests/unit/batch/commands/command_rig.h"

namespace millrace {
namespace {

using testing::HasSubstr;

RegisterNode node_at(uint8_t number, const std::string& address) {
  return {.node = {number}, .address = address};
}

TEST(NodeCommands, RegisterANodeOnce) {
  CommandRig rig;
  const Json first = {{"node", "01000000000000000000000000000000"},
                      {"address", "http://db1:8780"},
                      {"firstSeen", format_rfc3339(rig.now)}};
  EXPECT_EQ(rig.must(node_at(1, "http://db1:8780")), (Json{{"nodes", {first}}}));
  rig.now += std::chrono::hours(1);
  EXPECT_EQ(rig.must(node_at(1, "http://db1:8780")), (Json{{"nodes", {first}}}));
}

TEST(NodeCommands, KeepTheTimeOfTheFirstAnswerIfTheAddressChanges) {
  CommandRig rig;
  rig.must(node_at(1, "http://db1:8780"));
  const TimePoint first = rig.now;
  rig.now += std::chrono::hours(1);
  rig.must(node_at(1, "http://new:8780"));
  EXPECT_EQ(read_node(rig.batch().tx, {1}).value(),
            (NodeRecord{.first_seen = first, .address = "http://new:8780"}));
}

TEST(NodeCommands, RefuseMoreNodesThanARegisterHolds) {
  CommandRig rig;
  for (uint8_t i = 0; i < kMostRegisteredNodes; ++i) rig.must(node_at(i, "http://node"));
  const Error error = rig.refusal(node_at(200, "http://more"));
  EXPECT_EQ(error.code, "cluster.too_many_nodes");
  EXPECT_THAT(error.message, HasSubstr("node c8000000000000000000000000000000 at http://more"));
  rig.must(node_at(0, "http://moved"));
  rig.must(RemoveNode{.node = {1}});
  rig.must(node_at(200, "http://more"));
}

TEST(NodeCommands, RemoveARegisteredNodeOnly) {
  CommandRig rig;
  rig.must(node_at(1, "http://db1:8780"));
  EXPECT_EQ(rig.must(RemoveNode{.node = {1}}), (Json{{"nodes", Json::array()}}));
  EXPECT_EQ(rig.refusal(RemoveNode{.node = {1}}).code, "cluster.node_not_found");
}

}  // namespace
}  // namespace millrace
