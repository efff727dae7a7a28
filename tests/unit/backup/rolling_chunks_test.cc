// RollingChunks: which rows the chunks of a snapshot have, and where the snapshot begins and ends.
#include "orchestrator/backup/rolling_chunks.h"

#include "orchestrator/store/disk/write_set.h"
#include "tests/support/seeds.h"
#include "tests/unit/backup/snapshot_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class RollingChunksTest : public SnapshotTest {};

/// The absolute keys of the rows of the chunks, in order.
std::vector<std::string> keys_of(const std::vector<std::string>& chunks) {
  std::vector<std::string> keys;
  for (const std::string& chunk : chunks) {
    EXPECT_TRUE(each_write(chunk, [&](std::string_view key, auto) { keys.emplace_back(key); }));
  }
  return keys;
}

TEST_F(RollingChunksTest, LeaveOutTheRowsOfTheFolderAndContinueBehindThem) {
  lead();
  tx_->put(Table::kLive, "a", "1");
  tx_->put(Table::kMeta, "z", "2");
  tx_->put(Table::kNamespaces, "b", "3");
  commit();
  const TakenSnapshot taken = take(1);
  EXPECT_EQ(taken.chunks.size(), 3U) << "each row is larger than a chunk";
  EXPECT_THAT(keys_of(taken.chunks), ElementsAre("la", "mz", "nb"));
  EXPECT_THAT(taken.rows, ElementsAre(Pair("live", 1U), Pair("meta", 1U), Pair("namespaces", 1U)));
  EXPECT_EQ(taken.from, log_.last_commit());
  EXPECT_EQ(taken.to, log_.last_commit());
}

TEST_F(RollingChunksTest, OfAStoreWithoutRowsOrWithoutAPosition) {
  led_ = open_store(led_folder_);
  const TakenSnapshot empty = take(1);
  EXPECT_THAT(empty.chunks, IsEmpty());
  EXPECT_THAT(empty.rows, IsEmpty());
  tx_.emplace(*led_);
  put(Table::kLive, "a", "1");
  const TakenSnapshot base = take(1);
  EXPECT_THAT(keys_of(base.chunks), ElementsAre("la"));
  for (const TakenSnapshot* const one : {&empty, &base}) {
    EXPECT_EQ(one->from, LogPosition());
    EXPECT_EQ(one->to, LogPosition());
  }
}

TEST_F(RollingChunksTest, BeginAndEndWhereTheirFirstAndLastViewsAre) {
  lead();
  for (const char* const key : {"a", "b", "c"}) put(Table::kLive, key, "1");
  const LogPosition first = log_.last_commit();
  RollingChunks rolling(*led_, 1);
  for (const char* const key : {"la", "lb", "lc"}) {
    const auto chunk = rolling.next().value();
    ASSERT_TRUE(chunk);
    EXPECT_THAT(keys_of({*chunk}), ElementsAre(key));
    EXPECT_EQ(rolling.from(), first);
    put(Table::kEnded, key, "later");
  }
  const LogPosition last = log_.last_commit();
  EXPECT_EQ(rolling.next().value(), std::nullopt);
  EXPECT_EQ(rolling.to(), last);
  put(Table::kEnded, "after the end", "1");
  EXPECT_EQ(rolling.next().value(), std::nullopt);
  EXPECT_EQ(rolling.from(), first);
  EXPECT_EQ(rolling.to(), last) << "nothing is read after the end";
}

TEST_F(RollingChunksTest, EndAlthoughEachChunkIsFollowedByNewRows) {
  lead();
  const auto add = [&](int number) {
    tx_->put(Table::kHistory, fmt::format("{:04}", number), "row");
    tx_->put(Table::kWorkflows, fmt::format("{:04}", number), "row of a table without rows");
    commit();
  };
  tx_->put(Table::kEffects, "the last table", "1");
  for (int i = 0; i < 3; ++i) tx_->put(Table::kHistory, fmt::format("{:04}", i), "row");
  commit();
  int number = 3;
  const TakenSnapshot taken = take(1, [&] {
    ASSERT_LT(number, 100);
    add(number++);
  });
  EXPECT_THAT(taken.rows, ElementsAre(Pair("effects", 1U), Pair("history", 3U)));
}

TEST_F(RollingChunksTest, EndAlthoughRowsAreAddedAheadOfThem) {
  lead();
  tx_->put(Table::kLive, "a", "1");
  tx_->put(Table::kLive, "z", "1");
  commit();
  int number = 0;
  const TakenSnapshot taken = take(1, [&] {
    ASSERT_LT(number, 10'000);
    for (int i = 0; i < 2; ++i) tx_->put(Table::kLive, fmt::format("b{:05}", number++), "row");
    commit();
  });
  EXPECT_GT(taken.chunks.size(), 1'000U);
  EXPECT_LT(number, 10'000);
  const auto other = open_store(other_folder_);
  ASSERT_TRUE(load(*other, taken));
  const auto follower = LogFollower::open_loading(*other).value();
  follow_to_end(*follower);
  EXPECT_EQ(follower->position(), taken.to);
  ASSERT_TRUE(follower->apply(log_.read(taken.to).value()));
  EXPECT_EQ(rows_of(*other), rows_of(*led_));
}

TEST_F(RollingChunksTest, AreRefusedForAStoreThatLacksRows) {
  lead();
  put(Table::kLive, "a", "1");
  const auto other = open_store(other_folder_);
  ASSERT_TRUE(SnapshotLoader::begin(*other, log_.last_commit(), log_.last_commit()));
  RollingChunks rolling(*other);
  const auto chunk = rolling.next();
  ASSERT_FALSE(chunk);
  EXPECT_EQ(chunk.error().code, "store.joining");
}

TEST_F(RollingChunksTest, AreTheRowsAtTheEndTogetherWithTheLog) {
  size_t of_several_commits = 0;
  const auto all = seeds(30);
  for (const uint64_t seed : all) {
    SCOPED_TRACE(fmt::format("MILLRACE_SEED={}", seed));
    std::mt19937_64 random(seed);
    lead({.checkpoint_bytes = random() % 2'000});
    for (uint64_t i = 1 + random() % 30; i > 0; --i) commit_random(random);
    const TakenSnapshot taken = take(1 + random() % 300, [&] {
      for (uint64_t i = random() % 3; i > 0; --i) commit_random(random);
    });
    of_several_commits += taken.from == taken.to ? 0 : 1;
    const Folder folder(fast_folder());
    const auto other = open_store(folder, {.checkpoint_bytes = random() % 2'000});
    const Status loaded = load(*other, taken);
    ASSERT_TRUE(loaded) << loaded.error().message;
    const auto follower = LogFollower::open_loading(*other).value();
    EXPECT_EQ(follower->position(), taken.from);
    EXPECT_EQ(follower->is_loading(), taken.from != taken.to);
    follow_to_end(*follower);
    EXPECT_EQ(follower->position(), taken.to);
    EXPECT_EQ(rows_of(*other), taken.at_end);
    commit_random(random);
    ASSERT_TRUE(follower->apply(log_.read(follower->position()).value()));
    EXPECT_EQ(rows_of(*other), rows_of(*led_));
    if (HasFailure()) return;
  }
  if (all.size() < 30) return;
  EXPECT_GT(of_several_commits, 10U);
}

}  // namespace
}  // namespace millrace
