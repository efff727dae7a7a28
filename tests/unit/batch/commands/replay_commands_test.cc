#include "orchestrator/batch/commands/replay_commands.h"

#include <gtest/gtest.h>

#include "tests/unit/batch/commands/command_rig.h"

namespace millrace {
namespace {

using Kind = ChangeReplay::Kind;

ChangeReplay change(uint8_t number, Kind kind, const std::string& ns = "default") {
  ChangeReplay command{.ns = ns, .id = {number}, .kind = kind};
  command.record.created_at = from_millis(1'600'000'000'000 + number);
  command.record.rate = 10;
  command.record.last = 100;
  return command;
}

ReplayRecord stored(CommandRig& rig, uint8_t number) {
  return read_replay(rig.batch().tx, {.ns = NamespaceNumber(1), .id = {number}})
      .value()
      .value_or(ReplayRecord());
}

size_t count(CommandRig& rig) {
  size_t sum = 0;
  EXPECT_TRUE(each_replay(rig.batch().tx, [&](const ReplayPlace&, const ReplayRecord&) { ++sum; }));
  return sum;
}

TEST(ReplayCommands, BeginMoveAndStopAReplay) {
  CommandRig rig;
  EXPECT_EQ(rig.must(change(1, Kind::kBegin))["id"], "01000000000000000000000000000000");
  ChangeReplay move = change(1, Kind::kMove);
  move.record.next = 50;
  EXPECT_EQ(rig.must(move)["stopped"], false);
  EXPECT_EQ(stored(rig, 1).next, 50U);
  EXPECT_EQ(rig.must(change(1, Kind::kStop))["stopped"], true);
  EXPECT_EQ(stored(rig, 1).state, ReplayRecord::State::kStopped);
  EXPECT_EQ(stored(rig, 1).next, 50U) << "a stop keeps the progress";
}

TEST(ReplayCommands, ChangeOnlyARunningReplay) {
  CommandRig rig;
  EXPECT_EQ(rig.refusal(change(1, Kind::kMove)).code, "replay.not_found");
  EXPECT_EQ(rig.refusal(change(1, Kind::kStop)).code, "replay.not_found");
  rig.must(change(1, Kind::kBegin));
  rig.must(change(1, Kind::kStop));
  ChangeReplay move = change(1, Kind::kMove);
  move.record.next = 50;
  EXPECT_EQ(rig.refusal(move).code, "replay.ended");
  EXPECT_EQ(rig.refusal(change(1, Kind::kStop)).code, "replay.ended");
  EXPECT_EQ(stored(rig, 1).next, 0U);
}

TEST(ReplayCommands, RefuseTooManyRunningReplays) {
  CommandRig rig;
  uint8_t number = 0;
  for (size_t i = 0; i < kMostReplaysOfNamespace; ++i) rig.must(change(++number, Kind::kBegin));
  EXPECT_EQ(rig.refusal(change(99, Kind::kBegin)).code, "replay.too_many");
  rig.must(change(1, Kind::kStop));
  rig.must(change(++number, Kind::kBegin));
  for (size_t space = 1; space < kMostReplays / kMostReplaysOfNamespace; ++space) {
    const std::string ns = "space-" + std::to_string(space);
    rig.must(CreateNamespace{.name = ns});
    for (size_t i = 0; i < kMostReplaysOfNamespace; ++i) {
      rig.must(change(++number, Kind::kBegin, ns));
    }
  }
  rig.must(CreateNamespace{.name = "last"});
  EXPECT_EQ(rig.refusal(change(99, Kind::kBegin, "last")).code, "replay.too_many");
}

TEST(ReplayCommands, KeepTheNewestEndedReplays) {
  CommandRig rig;
  for (uint8_t i = 1; i <= kEndedReplaysKept + 5; ++i) {
    rig.must(change(i, Kind::kBegin));
    rig.must(change(i, Kind::kStop));
  }
  EXPECT_EQ(count(rig), kEndedReplaysKept);
  EXPECT_EQ(stored(rig, 5).rate, 0U) << "it was erased";
  EXPECT_EQ(stored(rig, 6).rate, 10U);
}

TEST(ReplayCommands, EraseTheReplaysOfADeletedNamespace) {
  CommandRig rig;
  rig.must(CreateNamespace{.name = "shop"});
  rig.must(change(1, Kind::kBegin, "shop"));
  rig.must(change(2, Kind::kBegin));
  rig.must(DeleteNamespace{.name = "shop"});
  EXPECT_EQ(count(rig), 1U);
  EXPECT_EQ(stored(rig, 2).rate, 10U);
}

}  // namespace
}  // namespace millrace
