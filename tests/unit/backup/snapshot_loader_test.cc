// SnapshotLoader: a store that loads a snapshot is marked until it has all rows.
#include "orchestrator/backup/snapshot_loader.h"

#include "orchestrator/store/disk/store_files.h"
#include "orchestrator/store/disk/write_set.h"
#include "orchestrator/store/found_store.h"
#include "tests/unit/backup/snapshot_fixture.h"

namespace millrace {
namespace {

using testing::HasSubstr;

class SnapshotLoaderTest : public SnapshotTest {
 protected:
  SnapshotLoaderTest() { other_ = open_store(other_folder_); }

  /// A snapshot of five rows, between whose chunks there are commits.
  TakenSnapshot take_some() {
    lead();
    for (const char* const key : {"a", "b", "c", "d", "e"}) put(Table::kLive, key, "1");
    int commits = 0;
    return take(1, [&] { put(Table::kLive, "a", std::to_string(++commits)); });
  }

  void reopen() {
    other_.reset();
    other_ = open_store(other_folder_);
  }

  std::string code_of_open() {
    const auto opened = LogFollower::open(*other_);
    return opened ? "ok" : opened.error().code;
  }

  std::unique_ptr<Environment> other_;
};

std::string code_of_status(const Status& done) { return done ? "ok" : done.error().code; }

TEST_F(SnapshotLoaderTest, MarksTheStoreUntilItHasReachedTheEnd) {
  const TakenSnapshot taken = take_some();
  for (int i = 0; i < 3; ++i) put(Table::kLive, "f", std::to_string(i));
  {
    const auto loader = SnapshotLoader::begin(*other_, taken.from, taken.to).value();
    EXPECT_TRUE(rows_of(*other_).contains({Table::kMeta, std::string(kLoadingKey)}));
    for (const std::string& chunk : taken.chunks) ASSERT_TRUE(loader->add(chunk));
    EXPECT_EQ(loader->rows(), taken.rows);
    ASSERT_TRUE(loader->finish(taken.rows));
  }
  EXPECT_EQ(code_of_open(), "store.joining");
  const auto follower = LogFollower::open_loading(*other_).value();
  EXPECT_EQ(follow_to_end(*follower), 5U);
  EXPECT_EQ(rows_of(*other_), taken.at_end);
  EXPECT_FALSE(rows_of(*other_).contains({Table::kMeta, std::string(kLoadingKey)}));
}

TEST_F(SnapshotLoaderTest, ReachesTheEndAlsoInTheMiddleOfManyCommits) {
  const TakenSnapshot taken = take_some();
  for (int i = 0; i < 3; ++i) put(Table::kLive, "f", std::to_string(i));
  ASSERT_TRUE(load(*other_, taken));
  const auto follower = LogFollower::open_loading(*other_).value();
  const auto all = log_.read(follower->position()).value();
  ASSERT_EQ(all.size(), 8U);
  ASSERT_TRUE(follower->apply(std::span(all).first(4)));
  EXPECT_TRUE(follower->is_loading());
  ASSERT_TRUE(follower->apply(all));
  EXPECT_FALSE(follower->is_loading());
  EXPECT_EQ(rows_of(*other_), rows_of(*led_));
}

TEST_F(SnapshotLoaderTest, KeepsTheMarkIfTheProcessEndsBeforeAndLoadsAgainIntoAClearedStore) {
  const TakenSnapshot taken = take_some();
  const size_t chunks = taken.chunks.size();
  ASSERT_EQ(chunks, 5U);
  for (size_t most = 0; most <= chunks; ++most) {
    for (const bool has_checkpoint : {false, true}) {
      const Folder folder(fast_folder());
      other_ = open_store(folder, {.checkpoints_at_close = has_checkpoint});
      ASSERT_EQ(code_of_status(load(*other_, taken, most)), "ok");
      other_.reset();
      other_ = open_store(folder);
      EXPECT_EQ(code_of_open(), "store.joining") << most;
      EXPECT_EQ(code_of_status(load(*other_, taken)), "store.not_empty") << most;

      other_.reset();
      ASSERT_EQ(code_of_status(clear_store(folder.path())), "ok");
      other_ = open_store(folder);
      ASSERT_EQ(code_of_status(load(*other_, taken)), "ok") << most;
      EXPECT_EQ(follow_to_end(*LogFollower::open_loading(*other_).value()), 5U);
      EXPECT_EQ(rows_of(*other_), taken.at_end);
      other_.reset();
    }
  }
}

TEST_F(SnapshotLoaderTest, KeepsTheMarkWhileCommitsAreMissing) {
  const TakenSnapshot taken = take_some();
  ASSERT_TRUE(load(*other_, taken));
  LogPosition position = taken.from;
  for (size_t applied = 0; applied < 4; ++applied) {
    {
      const auto follower = LogFollower::open_loading(*other_).value();
      EXPECT_EQ(follower->position(), position);
      ASSERT_TRUE(follower->apply(log_.read(position, 1).value()));
      position = follower->position();
      EXPECT_TRUE(follower->is_loading());
    }
    reopen();
    EXPECT_EQ(code_of_open(), "store.joining") << applied;
  }
  {
    const auto follower = LogFollower::open_loading(*other_).value();
    ASSERT_TRUE(follower->apply(log_.read(position, 1).value()));
  }
  reopen();
  EXPECT_EQ(code_of_open(), "ok");
  EXPECT_EQ(rows_of(*other_), taken.at_end);
}

TEST_F(SnapshotLoaderTest, RefusesALogThatDoesNotHaveTheEndOfTheSnapshot) {
  TakenSnapshot taken = take_some();
  const uint64_t end = taken.to.sequence;
  put(Table::kLive, "f", "1");
  const LogPosition to = taken.to;
  taken.to.chain = RandomName{7};
  ASSERT_TRUE(load(*other_, taken));
  {
    const auto follower = LogFollower::open_loading(*other_).value();
    const auto all = log_.read(follower->position()).value();
    ASSERT_TRUE(follower->apply(std::span(all).first(4)));
    const RowsByKey before = rows_of(*other_);
    const Status done = follower->apply(std::span(all).subspan(4));
    EXPECT_EQ(code_of_status(done), "log.diverged");
    EXPECT_THAT(done.error().message, HasSubstr(fmt::format("at sequence {}", end)));
    EXPECT_TRUE(follower->is_loading());
    EXPECT_EQ(rows_of(*other_), before);
  }
  // A sequence at which the log has no commit.
  lead_ = log_.start_epoch(kNode, RandomName{2}, log_.last_sequence()).value();
  ASSERT_TRUE(lead_->append(""));
  const Folder folder(fast_folder());
  other_ = open_store(folder);
  taken.to = to;
  taken.to.sequence = log_.last_sequence() - 1;
  ASSERT_TRUE(load(*other_, taken));
  {
    const auto follower = LogFollower::open_loading(*other_).value();
    EXPECT_EQ(code_of_status(follower->apply(log_.read(follower->position()).value())),
              "log.diverged");
  }
  other_.reset();
}

TEST_F(SnapshotLoaderTest, RefusesWhatIsNoSnapshot) {
  const TakenSnapshot right = take_some();
  const auto changed = [&](const std::function<void(TakenSnapshot&)>& change) {
    TakenSnapshot taken = right;
    change(taken);
    return taken;
  };
  const auto written = [](const std::string& absolute_key) {
    std::string bytes;
    append_write(bytes, absolute_key, "value");
    return bytes;
  };
  const std::pair<const char*, TakenSnapshot> wrong[] = {
      {"it ends before it begins",
       changed([](TakenSnapshot& one) { std::swap(one.from, one.to); })},
      {"it begins before the log", changed([](TakenSnapshot& one) { one.from = {}; })},
      {"two positions have one sequence", changed([](TakenSnapshot& one) {
         one.to = one.from;
         one.to.chain = RandomName{7};
       })},
      {"a row is missing", changed([](TakenSnapshot& one) { one.chunks.pop_back(); })},
      {"the manifest lists one more", changed([](TakenSnapshot& one) { ++one.rows["live"]; })},
      {"the manifest lists another table", changed([](TakenSnapshot& one) {
         one.rows = {{"ended", one.rows["live"]}};
       })},
      {"two chunks are exchanged",
       changed([](TakenSnapshot& one) { std::swap(one.chunks[0], one.chunks[1]); })},
      {"a chunk is cut short", changed([](TakenSnapshot& one) { one.chunks[2].pop_back(); })},
      {"a position is no part of a snapshot",
       changed([&](TakenSnapshot& one) { one.chunks.push_back(written("mlog")); })},
      {"the mark is no part of a snapshot",
       changed([&](TakenSnapshot& one) { one.chunks.push_back(written("mloading")); })}};
  for (const auto& [what, taken] : wrong) {
    const Folder folder(fast_folder());
    other_ = open_store(folder);
    const Status done = load(*other_, taken);
    EXPECT_EQ(code_of_status(done), "snapshot.damaged") << what;
    const bool has_started = !rows_of(*other_).empty();
    EXPECT_EQ(code_of_open(), has_started ? "store.joining" : "ok") << what;
    other_.reset();
  }
}

TEST_F(SnapshotLoaderTest, RefusesAStoreWithARow) {
  const TakenSnapshot taken = take_some();
  {
    Transaction tx(*other_);
    tx.put(Table::kEffects, "any", "1");
    ASSERT_TRUE(tx.commit());
  }
  const RowsByKey before = rows_of(*other_);
  const auto loader = SnapshotLoader::begin(*other_, taken.from, taken.to);
  ASSERT_FALSE(loader);
  EXPECT_EQ(loader.error().code, "store.not_empty");
  EXPECT_THAT(loader.error().message, HasSubstr("effects"));
  EXPECT_EQ(rows_of(*other_), before);
}

TEST_F(SnapshotLoaderTest, LoadsASnapshotOfOneCommitWithoutTheLog) {
  lead();
  put(Table::kLive, "a", "1");
  ASSERT_TRUE(load(*other_, take(kBackupChunkBytes)));
  EXPECT_EQ(code_of_open(), "ok");
  EXPECT_EQ(rows_of(*other_), rows_of(*led_));
}

TEST_F(SnapshotLoaderTest, LoadsTheBaseOfALog) {
  led_ = open_store(led_folder_);
  tx_.emplace(*led_);
  put(Table::kMeta, kFormatKey, "any");
  put(Table::kLive, "a", "1");
  tx_.reset();
  TakenSnapshot taken = take(1);
  const LogPosition base = base_position(kNode, RandomName{9});
  ASSERT_TRUE(found_with(*led_, base));
  ASSERT_TRUE(found_with(*led_, base)) << "once more changes nothing";
  EXPECT_EQ(code_of_status(found_with(*led_, base_position(kNode, RandomName{8}))),
            "store.cluster");
  taken.from = base;
  taken.to = base;
  ASSERT_TRUE(load(*other_, taken));
  EXPECT_EQ(rows_of(*other_), rows_of(*led_));

  lead_ = log_.start_epoch(kNode, kNode, 0).value();
  led_->lead(*lead_);
  tx_.emplace(*led_);
  put(Table::kLive, "b", "2");
  const auto follower = LogFollower::open(*other_).value();
  EXPECT_TRUE(is_base(follower->position()));
  ASSERT_TRUE(follower->apply(log_.read(follower->position()).value()));
  EXPECT_FALSE(is_base(follower->position()));
  EXPECT_EQ(rows_of(*other_), rows_of(*led_));
}

TEST_F(SnapshotLoaderTest, FoundsNoClusterWithAStoreThatLacksRows) {
  const TakenSnapshot taken = take_some();
  ASSERT_TRUE(load(*other_, taken));
  EXPECT_EQ(code_of_status(found_with(*other_, base_position(kNode, RandomName{9}))),
            "store.joining");
}

}  // namespace
}  // namespace millrace
