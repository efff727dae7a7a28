// FileFaults: simulates faults of the writes and syncs of the journal and of LMDB.
#include "tests/support/file_faults.h"

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/transaction.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

class FileFaultsTest : public testing::Test {
 protected:
  FileFaultsTest() { open(); }
  ~FileFaultsTest() override { FileFaults::disarm(); }

  void open() {
    tx_.reset();
    environment_.reset();
    auto opened = Environment::open(folder_.path(), {.reserve_bytes = 0});
    EXPECT_TRUE(opened) << opened.error().message;
    environment_ = std::move(*opened);
    tx_.emplace(*environment_);
  }

  /// Commits a row; returns the code of the error, or `ok`.
  std::string write(std::string_view key, size_t size = 100) {
    tx_->put(Table::kLive, key, std::string(size, 'x'));
    const Status done = tx_->commit();
    return done ? "ok" : done.error().code;
  }

  std::string checkpoint() {
    const Status done = environment_->checkpoint();
    return done ? "ok" : done.error().code;
  }

  std::string write_until_it_fails() {
    for (int i = 0; i < 1000; ++i) {
      const std::string code = write("row " + std::to_string(i), 1000);
      if (code != "ok") return code;
    }
    return "ok";
  }

  bool has(std::string_view key) { return tx_->get(Table::kLive, key).has_value(); }

  Folder folder_;
  std::unique_ptr<Environment> environment_;
  std::optional<Transaction> tx_;
};

TEST_F(FileFaultsTest, CountOneSyncForEachCommit) {
  FileFaults::arm(FileFault::kError, kNever);
  for (uint64_t commits = 1; commits <= 3; ++commits) {
    EXPECT_EQ(write("key"), "ok");
    const FileFaults::Counts seen = FileFaults::counts();
    EXPECT_GE(seen.writes, commits);
    EXPECT_EQ(seen.syncs, commits);
    EXPECT_EQ(seen.roots, 0U);
  }
  EXPECT_FALSE(FileFaults::has_struck());
}

TEST_F(FileFaultsTest, CountTheSyncsOfJournalsPagesAndRootInACheckpoint) {
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(write("key"), "ok");
    FileFaults::arm(FileFault::kError, kNever);
    EXPECT_EQ(checkpoint(), "ok");
    const FileFaults::Counts seen = FileFaults::counts();
    EXPECT_GE(seen.writes, 3U);
    EXPECT_EQ(seen.syncs, 3U);
    EXPECT_EQ(seen.roots, 1U);
  }
}

TEST_F(FileFaultsTest, LoseOnlyTheFailedWritesOnAFullDisk) {
  for (const FileFault fault : {FileFault::kFull, FileFault::kShort, FileFault::kNone}) {
    EXPECT_EQ(write("before"), "ok");
    FileFaults::arm(fault, 1);
    EXPECT_EQ(write_until_it_fails(), "store.full");
    EXPECT_TRUE(FileFaults::has_struck());
    EXPECT_EQ(write("large", 1'000'000), "store.full") << "the disk is still full";
    EXPECT_TRUE(has("before"));
    EXPECT_FALSE(has("large"));
    FileFaults::disarm();
    EXPECT_EQ(write("large", 1'000'000), "ok");
    tx_->erase(Table::kLive, "large");
    EXPECT_TRUE(tx_->commit());
  }
}

TEST_F(FileFaultsTest, KeepTheCommitsBeforeAndAfterACommitThatFailedWithStoreSync) {
  for (const FileFault fault : {FileFault::kError, FileFault::kSync}) {
    EXPECT_EQ(write("before"), "ok");
    FileFaults::arm(fault, 1);
    EXPECT_EQ(write("lost"), "store.sync");
    FileFaults::disarm();
    open();
    EXPECT_TRUE(has("before"));
    EXPECT_EQ(write("after"), "ok");
  }
}

TEST_F(FileFaultsTest, LoseNothingInAFailedCheckpointAndStopLaterCommits) {
  constexpr uint64_t kAfterTheJournals = 3;
  const struct {
    FileFault fault;
    uint64_t nth;
  } faults[] = {
      {FileFault::kError, 1}, {FileFault::kError, kAfterTheJournals}, {FileFault::kSync, 1},
      {FileFault::kSync, 2},  {FileFault::kSync, kAfterTheJournals},  {FileFault::kRoot, 1}};
  for (const auto& [fault, nth] : faults) {
    const std::string key = "before " + std::to_string(nth);
    EXPECT_EQ(write(key), "ok");
    FileFaults::arm(fault, nth);
    EXPECT_EQ(checkpoint(), "store.sync");
    EXPECT_TRUE(FileFaults::has_struck());
    FileFaults::disarm();
    EXPECT_EQ(write("after"), "store.sync");
    open();
    EXPECT_TRUE(has(key));
    EXPECT_FALSE(has("after"));
    EXPECT_EQ(checkpoint(), "ok");
  }
}

}  // namespace
}  // namespace millrace
