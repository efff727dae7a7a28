// LogFollower: a store that follows the log has the rows of the store that is led, byte for byte,
// and takes nothing else from the log.
#include "orchestrator/store/log_follower.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/disk/log_row.h"
#include "tests/support/all_rows.h"
#include "tests/support/folder.h"
#include "tests/support/memory_log.h"

namespace millrace {
namespace {

using testing::HasSubstr;

constexpr RandomName kFirstNode{1};
constexpr RandomName kSecondNode{2};

std::unique_ptr<Environment> open_folder(const Folder& folder, EnvironmentOptions options = {}) {
  options.reserve_bytes = 0;
  auto opened = Environment::open(folder.path(), options);
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? *std::move(opened) : nullptr;
}

RowsByKey rows_of_store(const Environment& environment) {
  const auto view = Snapshot::take(environment);
  EXPECT_TRUE(view);
  return view ? all_rows(*view) : RowsByKey();
}

uint64_t commits_of(const Environment& environment) {
  const auto view = Snapshot::take(environment);
  return view ? view->commit() : UINT64_MAX;
}

std::string code_of_apply(const Status& done) { return done ? "ok" : done.error().code; }

class LogFollowerTest : public testing::Test {
 protected:
  LogFollowerTest() {
    lead(kFirstNode);
    follow();
  }

  /// Starts the next epoch. The store that is led has the whole log.
  void lead(const RandomName& incarnation) {
    tx_.reset();
    led_.reset();
    led_ = open_folder(led_folder_);
    auto log = log_.start_epoch(kFirstNode, incarnation, log_.last_sequence());
    ASSERT_TRUE(log) << log.error().message;
    lead_ = *std::move(log);
    led_->lead(*lead_);
    tx_.emplace(*led_);
  }

  void follow() {
    follower_.reset();
    followed_.reset();
    followed_ = open_folder(followed_folder_);
    auto opened = LogFollower::open(*followed_);
    ASSERT_TRUE(opened) << opened.error().message;
    follower_ = *std::move(opened);
  }

  /// Commits rows that are set, replaced and erased, different in each commit.
  void commit() {
    const std::string number = std::to_string(++commits_);
    tx_->put(Table::kLive, "same", "value " + number);
    tx_->put(Table::kHistory, number, commits_ % 2 == 0 ? "" : std::string(300, 'h'));
    tx_->erase(Table::kHistory, std::to_string(commits_ - 2));
    tx_->put(Table::kMeta, "time", number);
    ASSERT_TRUE(tx_->commit());
  }

  std::vector<LogCommit> read(size_t most = SIZE_MAX) {
    auto commits = log_.read(follower_->position(), most);
    EXPECT_TRUE(commits) << commits.error().message;
    return commits ? *std::move(commits) : std::vector<LogCommit>();
  }

  MemoryLog log_;
  Folder led_folder_{fast_folder()};
  Folder followed_folder_{fast_folder()};
  std::unique_ptr<CommitLog> lead_;
  std::unique_ptr<Environment> led_;
  std::optional<Transaction> tx_;
  std::unique_ptr<Environment> followed_;
  std::unique_ptr<LogFollower> follower_;
  int commits_ = 0;
};

TEST_F(LogFollowerTest, HasTheSameRowsByteForByteAndOneCommitForMany) {
  uint64_t applied = 0;
  for (const int commits : {1, 5, 2}) {
    for (int i = 0; i < commits; ++i) commit();
    EXPECT_EQ(code_of_apply(follower_->apply(read())), "ok");
    EXPECT_EQ(rows_of_store(*followed_), rows_of_store(*led_));
    EXPECT_EQ(follower_->position(), log_.last_commit());
    EXPECT_EQ(commits_of(*followed_), ++applied);
    ASSERT_TRUE(led_->checkpoint());
  }
  ASSERT_TRUE(followed_->checkpoint());
  EXPECT_EQ(rows_of_store(*followed_), rows_of_store(*led_));
  EXPECT_EQ(code_of_apply(follower_->apply({})), "ok");
  EXPECT_EQ(commits_of(*followed_), applied) << "without commits it writes nothing";
}

TEST_F(LogFollowerTest, AppliesACommitTwiceAsOnce) {
  for (int i = 0; i < 4; ++i) commit();
  const auto all = read();
  EXPECT_EQ(code_of_apply(follower_->apply(std::span(all).first(3))), "ok");
  EXPECT_EQ(code_of_apply(follower_->apply(std::span(all).subspan(1))), "ok") << "two are known";
  EXPECT_EQ(commits_of(*followed_), 2U);
  const RowsByKey rows = rows_of_store(*followed_);
  EXPECT_EQ(rows, rows_of_store(*led_));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(code_of_apply(follower_->apply(all)), "ok");
  EXPECT_EQ(commits_of(*followed_), 2U);
  EXPECT_EQ(rows_of_store(*followed_), rows);
}

TEST_F(LogFollowerTest, ContinuesAtItsPositionAfterARestart) {
  for (int i = 0; i < 4; ++i) {
    commit();
    commit();
    EXPECT_EQ(code_of_apply(follower_->apply(read(1))), "ok");
    const LogPosition before = follower_->position();
    follow();
    EXPECT_EQ(follower_->position(), before);
  }
  EXPECT_EQ(code_of_apply(follower_->apply(read())), "ok");
  EXPECT_EQ(rows_of_store(*followed_), rows_of_store(*led_));
}

TEST_F(LogFollowerTest, FollowsIntoFurtherEpochsAlsoIfOneHasNoCommit) {
  commit();
  lead(kSecondNode);
  commit();
  EXPECT_EQ(code_of_apply(follower_->apply(read())), "ok");
  lead(RandomName{3});
  lead(RandomName{4});
  commit();
  commit();
  EXPECT_EQ(code_of_apply(follower_->apply(read())), "ok");
  EXPECT_EQ(follower_->position().name.epoch, 4U);
  EXPECT_EQ(follower_->position().name.commit, 2U);
  EXPECT_EQ(rows_of_store(*followed_), rows_of_store(*led_));
}

TEST_F(LogFollowerTest, RefusesACommitThatDoesNotFollow) {
  commit();
  commit();
  EXPECT_EQ(code_of_apply(follower_->apply(read())), "ok");
  commit();
  commit();
  const auto right = read();
  ASSERT_EQ(right.size(), 2U);
  const LogPosition last = follower_->position();
  const RowsByKey before = rows_of_store(*followed_);
  const auto changed = [&](const std::function<void(LogCommit&)>& change) {
    LogCommit commit = right[0];
    change(commit);
    return std::vector{commit};
  };
  const std::pair<const char*, std::vector<LogCommit>> wrong[] = {
      {"a commit is missing", {right[1]}},
      {"the order is another one", {right[1], right[0]}},
      {"the number skips one", changed([](LogCommit& one) { ++one.position.name.commit; })},
      {"another incarnation has the epoch",
       changed([](LogCommit& one) { one.position.name.incarnation = kSecondNode; })},
      {"an epoch begins with its second commit", changed([](LogCommit& one) {
         ++one.position.name.epoch;
         one.position.name.commit = 2;
       })},
      {"an earlier epoch", changed([](LogCommit& one) {
         one.position.name.epoch = 0;
         one.position.name.commit = 1;
       })},
      {"it is behind another commit",
       changed([](LogCommit& one) { one.behind.incarnation = kSecondNode; })},
      {"another commit has the place of the last one", changed([&](LogCommit& one) {
         one.position = last;
         one.position.chain = kSecondNode;
       })},
      {"a later epoch has an earlier place", changed([](LogCommit& one) {
         one.position.sequence = 1;
         ++one.position.name.epoch;
       })}};
  for (const auto& [what, commits] : wrong) {
    const Status done = follower_->apply(commits);
    EXPECT_EQ(code_of_apply(done), "log.diverged") << what;
    EXPECT_EQ(follower_->position(), last) << what;
    EXPECT_EQ(rows_of_store(*followed_), before) << what;
  }
  EXPECT_EQ(code_of_apply(follower_->apply(right)), "ok");
  EXPECT_EQ(rows_of_store(*followed_), rows_of_store(*led_));
}

TEST_F(LogFollowerTest, RefusesWhatIsNoWriteSet) {
  commit();
  commit();
  const auto right = read();
  const auto written = [](const std::string& absolute_key) {
    std::string bytes;
    append_write(bytes, absolute_key, "value");
    return bytes;
  };
  const std::pair<const char*, std::string> wrong[] = {
      {"it is cut short", std::string(right[1].write_set.substr(0, right[1].write_set.size() - 1))},
      {"no table has the byte", written("?key")},
      {"the key is empty", written("l")},
      {"the key is too long", written("l" + std::string(kMaxKeySize + 1, 'k'))},
      {"the position is no part of the log", written("mlog")},
      {"the mark of a store that lacks rows is no part of the log", written("mloading")}};
  for (const auto& [what, bytes] : wrong) {
    const std::vector<LogCommit> commits = {right[0], {right[1].position, right[1].behind, bytes}};
    const Status done = follower_->apply(commits);
    EXPECT_EQ(code_of_apply(done), "log.damaged") << what;
    EXPECT_TRUE(rows_of_store(*followed_).empty()) << what << ": not the first commit either";
  }
  std::string longest = written("l" + std::string(kMaxKeySize, 'k'));
  const std::vector<LogCommit> commits = {right[0], {right[1].position, right[1].behind, longest}};
  EXPECT_EQ(code_of_apply(follower_->apply(commits)), "ok");
}

TEST_F(LogFollowerTest, KeepsNoRowOfACommitThatItHasRefused) {
  commit();
  const RowsByKey first = rows_of_store(*led_);
  commit();
  const auto right = read();
  const std::string_view whole = right[1].write_set;
  const LogCommit half{right[1].position, right[1].behind, whole.substr(0, whole.size() - 1)};
  EXPECT_EQ(code_of_apply(follower_->apply(std::vector{right[0], half})), "log.damaged");
  EXPECT_EQ(code_of_apply(follower_->apply(std::span(right).first(1))), "ok");
  EXPECT_EQ(rows_of_store(*followed_), first);
}

TEST_F(LogFollowerTest, RefusesAStoreWhoseRowsAreNotThoseOfTheLog) {
  const Folder folder(fast_folder());
  const auto environment = open_folder(folder);
  {
    Transaction tx(*environment);
    tx.put(Table::kMeta, kFormatKey, "any");
    ASSERT_TRUE(tx.commit());
  }
  const auto opened = LogFollower::open(*environment);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, "store.cluster");
  EXPECT_THAT(opened.error().message, HasSubstr(folder.path().string()));
  {
    Transaction tx(*environment);
    tx.put(Table::kMeta, kLogKey, "any");
    ASSERT_TRUE(tx.commit());
  }
  EXPECT_EQ(LogFollower::open(*environment).error().code, "store.corrupt");
}

TEST_F(LogFollowerTest, AppliesWhatTheActiveCouldCommitAlsoPastTheSoftLimit) {
  follower_.reset();
  followed_.reset();
  followed_ = open_folder(followed_folder_, {.soft_limit_bytes = 1});
  follower_ = LogFollower::open(*followed_).value();
  for (int i = 0; i < 3; ++i) commit();
  EXPECT_EQ(code_of_apply(follower_->apply(read())), "ok");
  EXPECT_EQ(rows_of_store(*followed_), rows_of_store(*led_));
}

}  // namespace
}  // namespace millrace
