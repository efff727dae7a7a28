#include "orchestrator/batch/commands/replay_commands.h"

#include <gtest/gtest.h>

#include "tests/unit/batch/commands/command_rig.h"

namespace millrace {
namespace {

using ReplayKind = ChangeReplay::Kind;

ChangeReplay replay_change(uint8_t number, ReplayKind kind, const std::string& ns = "default") {
  ChangeReplay command{.ns = ns, .id = {number}, .kind = kind};
  command.record.created_at = from_millis(1'600'000'000'000 + number);
  command.record.rate = 10;
  command.record.last = 100;
  return command;
}

ReplayRecord stored_replay(CommandRig& rig, uint8_t number) {
  return read_replay(rig.batch().tx, {.ns = NamespaceNumber(1), .id = {number}})
      .value()
      .value_or(ReplayRecord());
}

size_t count_replays(CommandRig& rig) {
  size_t sum = 0;
  EXPECT_TRUE(each_replay(rig.batch().tx, [&](const ReplayPlace&, const ReplayRecord&) { ++sum; }));
  return sum;
}

TEST(ReplayCommands, BeginMoveAndStopAReplay) {
  CommandRig rig;
  EXPECT_EQ(rig.must(replay_change(1, ReplayKind::kBegin))["id"],
            "01000000000000000000000000000000");
  ChangeReplay move = replay_change(1, ReplayKind::kMove);
  move.record.next = 50;
  EXPECT_EQ(rig.must(move)["stopped"], false);
  EXPECT_EQ(stored_replay(rig, 1).next, 50U);
  EXPECT_EQ(rig.must(replay_change(1, ReplayKind::kStop))["stopped"], true);
  EXPECT_EQ(stored_replay(rig, 1).state, ReplayRecord::State::kStopped);
  EXPECT_EQ(stored_replay(rig, 1).next, 50U) << "a stop keeps the progress";
}

TEST(ReplayCommands, ChangeOnlyARunningReplay) {
  CommandRig rig;
  EXPECT_EQ(rig.refusal(replay_change(1, ReplayKind::kMove)).code, "replay.not_found");
  EXPECT_EQ(rig.refusal(replay_change(1, ReplayKind::kStop)).code, "replay.not_found");
  rig.must(replay_change(1, ReplayKind::kBegin));
  rig.must(replay_change(1, ReplayKind::kStop));
  ChangeReplay move = replay_change(1, ReplayKind::kMove);
  move.record.next = 50;
  EXPECT_EQ(rig.refusal(move).code, "replay.ended");
  EXPECT_EQ(rig.refusal(replay_change(1, ReplayKind::kStop)).code, "replay.ended");
  EXPECT_EQ(stored_replay(rig, 1).next, 0U);
}

TEST(ReplayCommands, RefuseTooManyRunningReplays) {
  CommandRig rig;
  uint8_t number = 0;
  for (size_t i = 0; i < kMostReplaysOfNamespace; ++i)
    rig.must(replay_change(++number, ReplayKind::kBegin));
  const Error here = rig.refusal(replay_change(99, ReplayKind::kBegin));
  EXPECT_EQ(here.code, "replay.too_many");
  EXPECT_EQ(here.message,
            "4 replays run in namespace \"default\" and 4 in all; at most 4 and 16 may run: wait "
            "until one has ended, or stop one: `millrace -n default replay list` lists them, and "
            "`millrace -n default replay stop ID` stops one");
  rig.must(replay_change(1, ReplayKind::kStop));
  rig.must(replay_change(++number, ReplayKind::kBegin));
  for (size_t space = 1; space < kMostReplays / kMostReplaysOfNamespace; ++space) {
    const std::string ns = "space-" + std::to_string(space);
    rig.must(CreateNamespace{.name = ns});
    for (size_t i = 0; i < kMostReplaysOfNamespace; ++i) {
      rig.must(replay_change(++number, ReplayKind::kBegin, ns));
    }
  }
  rig.must(CreateNamespace{.name = "last"});
  const Error all = rig.refusal(replay_change(99, ReplayKind::kBegin, "last"));
  EXPECT_EQ(all.code, "replay.too_many");
  EXPECT_TRUE(all.message.starts_with("0 replays run in namespace \"last\" and 16 in all; "));
  EXPECT_TRUE(all.message.ends_with("`millrace -n NAMESPACE replay stop ID` stops one"))
      << "those of other namespaces: " << all.message;
}

TEST(ReplayCommands, KeepTheNewestEndedReplays) {
  CommandRig rig;
  for (uint8_t i = 1; i <= kEndedReplaysKept + 5; ++i) {
    rig.must(replay_change(i, ReplayKind::kBegin));
    rig.must(replay_change(i, ReplayKind::kStop));
  }
  EXPECT_EQ(count_replays(rig), kEndedReplaysKept);
  EXPECT_EQ(stored_replay(rig, 5).rate, 0U) << "it was erased";
  EXPECT_EQ(stored_replay(rig, 6).rate, 10U);
}

TEST(ReplayCommands, KeepABoundedNumberOfEndedReplaysOfAllNamespaces) {
  CommandRig rig;
  const auto place_of = [](uint32_t number) {
    ReplayPlace place{.ns = NamespaceNumber(100 + number / 20)};
    place.id[0] = static_cast<uint8_t>(number);
    place.id[1] = static_cast<uint8_t>(number >> 8);
    return place;
  };
  for (uint32_t i = 0; i < kAllEndedReplaysKept; ++i) {
    ReplayRecord record{.state = ReplayRecord::State::kDone, .rate = 1};
    record.created_at = from_millis(1'000'000 + i);
    write_replay(rig.batch().tx, place_of(i), record);
  }
  rig.must(replay_change(1, ReplayKind::kBegin));
  EXPECT_EQ(count_replays(rig), kAllEndedReplaysKept) << "all but one, and the running one";
  EXPECT_FALSE(read_replay(rig.batch().tx, place_of(0)).value()) << "the oldest one is erased";
  EXPECT_TRUE(read_replay(rig.batch().tx, place_of(1)).value());
}

TEST(ReplayCommands, EraseTheReplaysOfADeletedNamespace) {
  CommandRig rig;
  rig.must(CreateNamespace{.name = "shop"});
  rig.must(replay_change(1, ReplayKind::kBegin, "shop"));
  rig.must(replay_change(2, ReplayKind::kBegin));
  rig.must(DeleteNamespace{.name = "shop"});
  EXPECT_EQ(count_replays(rig), 1U);
  EXPECT_EQ(stored_replay(rig, 2).rate, 10U);
}

}  // namespace
}  // namespace millrace
