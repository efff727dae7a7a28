// The command that drops a group of events.
#include "orchestrator/batch/commands/group_commands.h"

#include <string>

#include <gtest/gtest.h>

#include "cloudevents/json_format.h"
#include "orchestrator/batch/group_id.h"
#include "orchestrator/store/rows/group_rows.h"
#include "tests/unit/batch/commands/command_rig.h"

namespace millrace {
namespace {

constexpr const char* kPair = R"(
id: pair
start: {type: eventsAnd, correlate: [order], events: [{type: placed}, {type: paid}]}
states:
- {id: end, type: noop}
)";
constexpr const char* kPlain = R"(
id: plain
states:
- {id: end, type: noop}
)";
constexpr Fingerprint kGroup = {7};
constexpr const char* kGroupId = "pair:07000000000000000000000000000000";

/// Applies the workflow `pair`, and writes so many events of the first entry of a group.
void add_events(CommandRig& rig, uint32_t count) {
  rig.must(CommandRig::apply_workflow(kPair));
  const WorkflowNumber pair{1};
  Transaction& tx = rig.batch().tx;
  for (uint32_t number = 1; number <= count; ++number) {
    const Event event{.id = std::to_string(number), .source = "/s", .type = "placed"};
    write_grouped(tx, {.queue = {pair, kGroup, 0},
                       .number = number,
                       .record = {.position = {1, number}, .event = encode_json_event(event)}});
  }
  write_counts(tx, pair, kGroup, {count, 0});
  ASSERT_TRUE(rig.commit());
}

TEST(GroupCommands, DropAGroupInSeveralBatches) {
  CommandRig rig;
  add_events(rig, 200);
  const Json answer = rig.must(DropGroup{.ns = "default", .id = kGroupId});
  EXPECT_EQ(answer, (Json{{"id", kGroupId}, {"dropped", 200}}));
  size_t left = 0;
  ASSERT_TRUE(each_grouped(rig.batch().tx, [&](const GroupedEvent&) { ++left; }));
  EXPECT_EQ(left, 0U);
  EXPECT_FALSE(read_counts(rig.batch().tx, WorkflowNumber(1), kGroup).value());
  EXPECT_EQ(rig.refusal(DropGroup{.ns = "default", .id = kGroupId}).code, "group.not_found");
}

TEST(GroupCommands, KeepTheEventsThatJoinTheGroupLater) {
  CommandRig rig;
  add_events(rig, 3);
  DropGroup drop{.ns = "default", .id = kGroupId, .up_to = 2};
  EXPECT_EQ(rig.must(drop)["dropped"], 2);
  EXPECT_EQ(read_counts(rig.batch().tx, WorkflowNumber(1), kGroup).value(),
            (std::vector<uint32_t>{1, 0}));
}

TEST(GroupCommands, RefuseWhatIsNoGroup) {
  CommandRig rig;
  add_events(rig, 1);
  rig.must(CommandRig::apply_workflow(kPlain));
  const std::string hex = std::string(kGroupId).substr(5);
  for (const std::string& id :
       {std::string(), std::string("pair"), std::string("pair:07"), hex, ":" + hex, "none:" + hex,
        "plain:" + hex, "pair:08" + hex.substr(2), std::string(kGroupId) + "0"}) {
    EXPECT_EQ(rig.refusal(DropGroup{.ns = "default", .id = id}).code, "group.not_found") << id;
  }
}

TEST(GroupCommands, LoseTheBatchAfterAFailedRead) {
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) {
    add_events(rig, 2);
    return DropGroup{.ns = "default", .id = kGroupId};
  });
}

TEST(GroupId, IsReadAsItIsWritten) {
  const GroupId id{.workflow = "a.b-c", .group = kGroup};
  EXPECT_EQ(to_string(id), "a.b-c:07000000000000000000000000000000");
  const auto read = parse_group_id(to_string(id));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->workflow, "a.b-c");
  EXPECT_EQ(read->group, kGroup);
}

}  // namespace
}  // namespace millrace
