// MemoryLog: it refuses what the log of a cluster refuses.
#include "tests/support/memory_log.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr RandomName kHere{1};
constexpr RandomName kThere{2};

std::string code_of_append(CommitLog& log) {
  const auto position = log.append("a write-set");
  return position ? "ok" : position.error().code;
}

TEST(MemoryLog, NumbersTheCommitsOfEachEpoch) {
  MemoryLog log;
  const auto first = log.start_epoch(kHere, kHere, 0).value();
  EXPECT_EQ(first->append("a")->name, (CommitName{1, 1, kHere}));
  EXPECT_EQ(first->append("b")->name, (CommitName{1, 2, kHere}));
  const auto second = log.start_epoch(kThere, kThere, 3).value();
  const LogPosition last = second->append("c").value();
  EXPECT_EQ(last.name, (CommitName{2, 1, kThere}));
  EXPECT_EQ(last.sequence, 5U);
  EXPECT_EQ(last.node, kThere);
  EXPECT_EQ(log.last_commit(), last);
  const auto commits = log.read({}).value();
  ASSERT_EQ(commits.size(), 3U);
  EXPECT_EQ(commits[0].behind, CommitName());
  EXPECT_EQ(commits[2].behind, commits[1].position.name);
  EXPECT_EQ(commits[2].write_set, "c");
  EXPECT_EQ(log.read(commits[0].position, 1)->front().position, commits[1].position);
  EXPECT_TRUE(log.read(last)->empty());
}

TEST(MemoryLog, RefusesTheAppendsOfAnEpochThatAnotherOneFollows) {
  MemoryLog log;
  const auto first = log.start_epoch(kHere, kHere, 0).value();
  EXPECT_EQ(code_of_append(*first), "ok");
  EXPECT_EQ(log.start_epoch(kThere, kThere, 1).error().code, "log.deposed")
      << "it has not read all";
  const auto second = log.start_epoch(kThere, kThere, 2).value();
  EXPECT_EQ(code_of_append(*first), "log.deposed");
  EXPECT_EQ(code_of_append(*second), "ok");
  EXPECT_EQ(code_of_append(*first), "log.deposed");
}

TEST(MemoryLog, StoresOrDoesNotStoreACommitWhoseConnectionIsClosed) {
  for (const bool is_stored : {false, true}) {
    MemoryLog log;
    const auto lead = log.start_epoch(kHere, kHere, 0).value();
    bool was_asked = false;
    log.decide_fates([&] {
      return AppendFate{
          .is_stored = is_stored, .is_acked = false, .meanwhile = [&] { was_asked = true; }};
    });
    EXPECT_EQ(code_of_append(*lead), "log.closed");
    EXPECT_EQ(log.last_sequence(), is_stored ? 2U : 1U);
    EXPECT_EQ(was_asked, is_stored);
  }
}

TEST(MemoryLog, AcknowledgesACommitBehindWhichAnotherNodeHasTakenOver) {
  MemoryLog log;
  const auto first = log.start_epoch(kHere, kHere, 0).value();
  std::unique_ptr<CommitLog> second;
  log.decide_fates([&] {
    return AppendFate{.meanwhile = [&] { second = log.start_epoch(kThere, kThere, 2).value(); }};
  });
  EXPECT_EQ(code_of_append(*first), "ok");
  log.decide_fates({});
  EXPECT_EQ(code_of_append(*first), "log.deposed");
  EXPECT_EQ(code_of_append(*second), "ok");
}

TEST(MemoryLog, NoticesALostTail) {
  MemoryLog log;
  const auto lead = log.start_epoch(kHere, kHere, 0).value();
  const LogPosition first = lead->append("a").value();
  const LogPosition lost = lead->append("b").value();
  log.lose_tail(1);
  EXPECT_EQ(code_of_append(*lead), "log.lost");
  EXPECT_EQ(log.read(lost).error().code, "log.lost");
  EXPECT_TRUE(log.read(first)->empty());
  const auto other = log.start_epoch(kThere, kThere, 2).value();
  EXPECT_EQ(log.read(lost).error().code, "log.diverged") << "the start of an epoch is in its place";
  EXPECT_EQ(code_of_append(*lead), "log.lost");
  EXPECT_EQ(code_of_append(*other), "ok");
}

TEST(MemoryLog, GetsBackWhatItHasLost) {
  MemoryLog log;
  const auto lead = log.start_epoch(kHere, kHere, 0).value();
  const LogPosition first = lead->append("a").value();
  const LogPosition second = lead->append("b").value();
  const std::vector<MemoryLog::Message> kept(log.messages().begin() + 1, log.messages().end());
  log.lose_tail(2);
  ASSERT_NE(log.known_at(second.sequence), nullptr);
  EXPECT_EQ(log.known_at(second.sequence)->position, second);
  EXPECT_FALSE(log.restore({kept[1]})) << "it does not follow the end of the log";
  EXPECT_TRUE(log.restore(kept));
  EXPECT_EQ(log.last_commit(), second);
  EXPECT_EQ(code_of_append(*lead), "ok");

  log.lose_tail(2);
  const auto other = log.start_epoch(kThere, kThere, first.sequence).value();
  EXPECT_EQ(log.known_at(second.sequence)->position.name, (CommitName{2, 0, kThere}));
  EXPECT_EQ(log.known_at(second.sequence + 1), nullptr) << "the log has another history since";
  EXPECT_FALSE(log.restore(kept));
}

TEST(MemoryLog, HasTheOtherPartsOfACommitBeforeIt) {
  MemoryLog log;
  const auto first = log.start_epoch(kHere, kHere, 0).value();
  size_t parts = 0;
  log.decide_fates([&] { return AppendFate{.parts = 2, .on_part = [&] { ++parts; }}; });
  const LogPosition commit = first->append("a").value();
  EXPECT_EQ(commit.sequence, 4U);
  EXPECT_EQ(parts, 2U);
  EXPECT_EQ(log.read({})->size(), 1U);
  log.lose_tail(1);
  EXPECT_TRUE(log.read({})->empty()) << "parts without the last one are no commit";
  EXPECT_EQ(log.last_commit(), LogPosition());
  const auto second = log.start_epoch(kThere, kThere, 3).value();
  EXPECT_EQ(second->append("b")->name, (CommitName{2, 1, kThere}));
  EXPECT_EQ(log.read({})->front().behind, CommitName());
}

TEST(MemoryLog, IsTrimmedBehindAPosition) {
  MemoryLog log;
  const auto lead = log.start_epoch(kHere, kHere, 0).value();
  const LogPosition first = lead->append("a").value();
  const LogPosition second = lead->append("b").value();
  log.trim(second.sequence);
  EXPECT_EQ(log.read({}).error().code, "log.trimmed");
  EXPECT_EQ(log.read(first)->front().position, second) << "it has all that follows";
  log.trim(1);
  EXPECT_EQ(log.first_sequence(), second.sequence);
  EXPECT_EQ(code_of_append(*lead), "ok");
}

}  // namespace
}  // namespace millrace
