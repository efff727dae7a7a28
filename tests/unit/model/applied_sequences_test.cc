// AppliedSequences: which messages of an origin stream are repetitions, and how gaps close.
#include "model/applied_sequences.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/seeds.h"

namespace millrace {
namespace {

using testing::IsEmpty;
using Added = AppliedSequences::Added;

struct Row {
  const char* name;
  AppliedSequences before;
  uint64_t previous;
  uint64_t sequence;
  Added added;
  uint64_t floor;
  std::vector<SequenceRange> above;
};

AppliedSequences with(uint64_t floor, const std::vector<SequenceRange>& above) {
  AppliedSequences applied(floor);
  for (const SequenceRange& one : above) applied.add(one.first - 1, one.last);
  return applied;
}

TEST(AppliedSequences, CoverTheMessagesSinceThePreviousOne) {
  const Row rows[] = {
      {"the next one", with(4, {}), 4, 5, Added::kNew, 5, {}},
      {"messages between are not wanted", with(4, {}), 4, 9, Added::kNew, 9, {}},
      {"the floor covers a part", with(4, {}), 2, 6, Added::kNew, 6, {}},
      {"at the floor", with(4, {}), 3, 4, Added::kRepeated, 4, {}},
      {"below the floor", with(4, {}), 0, 1, Added::kRepeated, 4, {}},
      {"a gap", with(4, {}), 5, 6, Added::kNew, 4, {{6, 6}}},
      {"in a range above", with(4, {{6, 8}}), 6, 7, Added::kRepeated, 4, {{6, 8}}},
      {"behind a range", with(4, {{6, 8}}), 8, 9, Added::kNew, 4, {{6, 9}}},
      {"before a range", with(4, {{8, 9}}), 6, 7, Added::kNew, 4, {{7, 9}}},
      {"overlaps a range", with(4, {{8, 9}}), 6, 12, Added::kNew, 4, {{7, 12}}},
      {"between two ranges", with(4, {{6, 7}, {9, 9}}), 7, 8, Added::kNew, 4, {{6, 9}}},
      {"apart from two ranges",
       with(4, {{6, 7}, {12, 12}}),
       8,
       9,
       Added::kNew,
       4,
       {{6, 7}, {9, 9}, {12, 12}}},
      {"closes the gap", with(4, {{6, 8}}), 4, 5, Added::kNew, 8, {}},
      {"closes the lowest gap only", with(4, {{6, 6}, {8, 8}}), 4, 5, Added::kNew, 6, {{8, 8}}},
      {"no range", with(4, {}), 7, 7, Added::kUnordered, 4, {}},
      {"a range in the wrong order", with(4, {}), 8, 7, Added::kUnordered, 4, {}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    AppliedSequences applied = row.before;
    EXPECT_EQ(applied.add(row.previous, row.sequence), row.added);
    EXPECT_EQ(applied.floor(), row.floor);
    EXPECT_EQ(applied.above(), row.above);
    EXPECT_EQ(applied.has(row.sequence), row.added != Added::kUnordered);
  }
}

TEST(AppliedSequences, HaveABoundOfGaps) {
  AppliedSequences applied;
  for (uint64_t i = 1; i <= kMostGaps; ++i) ASSERT_EQ(applied.add(2 * i, 2 * i + 1), Added::kNew);
  const uint64_t next = 2 * kMostGaps + 3;
  EXPECT_EQ(applied.add(next - 1, next), Added::kTooManyGaps);
  EXPECT_FALSE(applied.has(next));
  EXPECT_EQ(applied.add(0, 1), Added::kNew) << "the lowest sequence makes no gap";
  EXPECT_EQ(applied.add(1, 2), Added::kNew) << "a sequence that closes a gap has room";
  EXPECT_EQ(applied.floor(), 3U);
  EXPECT_EQ(applied.add(next - 1, next), Added::kNew);
}

/// A source that reads the stream again from its floor at random, whose messages arrive in a random
/// order and more than once: each is new exactly once, and in the end no gap is left.
TEST(AppliedSequences, AcceptEachMessageOnceInAnyOrder) {
  for (const uint64_t seed : seeds(200)) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<uint64_t> wanted;
    uint64_t last = 0;
    for (int i = 0; i < 60; ++i) wanted.push_back(last += 1 + random() % 3);
    AppliedSequences applied;
    std::multiset<uint64_t> accepted;
    while (applied.floor() < wanted.back()) {
      std::vector<std::pair<uint64_t, uint64_t>> sent;
      uint64_t previous = applied.floor();
      for (const uint64_t sequence : wanted) {
        if (sequence <= applied.floor()) continue;
        if (random() % 4 != 0) sent.emplace_back(previous, sequence);
        if (random() % 4 == 0) sent.emplace_back(previous, sequence);
        previous = sequence;
      }
      std::shuffle(sent.begin(), sent.end(), random);
      for (const auto& [before, sequence] : sent) {
        const bool is_known = applied.has(sequence);
        const Added added = applied.add(before, sequence);
        EXPECT_EQ(added, is_known ? Added::kRepeated : Added::kNew);
        if (added == Added::kNew) accepted.insert(sequence);
      }
    }
    EXPECT_THAT(applied.above(), IsEmpty());
    EXPECT_EQ(std::vector<uint64_t>(accepted.begin(), accepted.end()), wanted);
  }
}

}  // namespace
}  // namespace millrace
