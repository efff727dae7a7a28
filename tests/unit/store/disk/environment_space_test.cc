// The disk space of an environment: used bytes, the soft limit, the reserve, and a full map or
// disk.
#include <csignal>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/transaction.h"
#include "tests/support/file_faults.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

using testing::HasSubstr;

TEST(Environment, MeasuresTheBytesThatRowsUse) {
  const Folder folder;
  const auto environment = Environment::open(folder.path());
  ASSERT_TRUE(environment);
  EXPECT_EQ((*environment)->used_bytes(), 0U);
  Transaction transaction(**environment);
  transaction.put(Table::kLive, "big", std::string(1'000'000, 'x'));
  ASSERT_TRUE(transaction.commit());
  for (const auto place : {"in the journal", "in LMDB"}) {
    EXPECT_GE((*environment)->used_bytes(), 1'000'000U) << place;
    EXPECT_LE((*environment)->used_bytes(), 1'020'000U) << place;
    ASSERT_TRUE((*environment)->checkpoint());
  }
  transaction.erase(Table::kLive, "big");
  ASSERT_TRUE(transaction.commit());
  ASSERT_TRUE((*environment)->checkpoint());
  EXPECT_EQ((*environment)->used_bytes(), 0U);
}

TEST(Environment, MeasuresItsFilesItsFreePagesAndItsRowsInMemory) {
  const Folder folder;
  auto environment = Environment::open(folder.path(), {.checkpoints_at_close = false}).value();
  const StoreSize fresh = environment->size().value();
  EXPECT_EQ(fresh.used_bytes, 0U);
  EXPECT_EQ(fresh.waiting_rows, 0U);
  EXPECT_EQ(fresh.waiting_bytes, 0U);
  {
    Transaction transaction(*environment);
    for (const char* const key : {"a", "b", "c"}) {
      transaction.put(Table::kLive, key, std::string(100'000, 'x'));
    }
    ASSERT_TRUE(transaction.commit());
    const StoreSize waiting = environment->size().value();
    EXPECT_EQ(waiting.waiting_rows, 3U);
    EXPECT_GE(waiting.waiting_bytes, 300'000U);
    EXPECT_EQ(waiting.used_bytes, 0U) << "no checkpoint has written the rows";
    EXPECT_GE(waiting.journal_bytes, 300'000U);
    ASSERT_TRUE(environment->checkpoint());
    const StoreSize written = environment->size().value();
    EXPECT_EQ(written.waiting_rows, 0U);
    EXPECT_EQ(written.waiting_bytes, 0U);
    EXPECT_GE(written.used_bytes, 300'000U);
    EXPECT_LE(written.used_bytes + written.free_bytes, written.data_bytes);
    EXPECT_EQ(written.data_bytes, std::filesystem::file_size(folder.path() / "data.mdb"));
    for (const char* const key : {"a", "b"}) transaction.erase(Table::kLive, key);
    ASSERT_TRUE(transaction.commit());
    EXPECT_EQ(environment->size()->waiting_rows, 2U) << "an erased row waits, too";
    ASSERT_TRUE(environment->checkpoint());
    EXPECT_GE(environment->size()->free_bytes, 200'000U);
    transaction.put(Table::kLive, "d", "in the journal");
    ASSERT_TRUE(transaction.commit());
  }
  const StoreSize last = environment->size().value();
  environment = nullptr;
  environment = Environment::open(folder.path(), {.read_only = true}).value();
  const StoreSize found = environment->size().value();
  EXPECT_EQ(found.data_bytes, last.data_bytes);
  EXPECT_EQ(found.used_bytes, last.used_bytes);
  EXPECT_EQ(found.free_bytes, last.free_bytes);
  EXPECT_EQ(found.journal_bytes, last.journal_bytes);
  EXPECT_EQ(found.waiting_rows, 1U);
  EXPECT_GT(found.waiting_bytes, 0U);
}

TEST(Environment, ShrinksItsJournals) {
  const Folder folder;
  constexpr uint64_t kHeaders = 2 * 4096;
  {
    const auto environment = Environment::open(folder.path()).value();
    Transaction transaction(*environment);
    for (int i = 0; i < 10; ++i) {
      transaction.put(Table::kLive, std::to_string(i), std::string(100'000, 'x'));
      ASSERT_TRUE(transaction.commit());
    }
    EXPECT_GE(environment->size()->journal_bytes, 1'000'000U);
    ASSERT_TRUE(environment->shrink_journals());
    EXPECT_EQ(environment->size()->journal_bytes, kHeaders);
    transaction.put(Table::kLive, "10", "after it");
    ASSERT_TRUE(transaction.commit());
    EXPECT_GT(environment->size()->journal_bytes, kHeaders);
  }
  const auto environment = Environment::open(folder.path()).value();
  const Snapshot view = Snapshot::take(*environment).value();
  EXPECT_EQ(view.commit(), 11U);
  EXPECT_EQ(view.get(Table::kLive, "9")->size(), 100'000U);
  EXPECT_EQ(view.get(Table::kLive, "10"), "after it");
}

TEST(Environment, UsesEqualSpaceForEqualWritesIfCommitsWaitForCheckpoints) {
  const auto used_bytes = [] {
    const Folder folder;
    const auto environment = Environment::open(
        folder.path(), {.checkpoint_bytes = 1'000, .waits_for_checkpoints = true});
    EXPECT_TRUE(environment);
    std::vector<uint64_t> bytes;
    Transaction transaction(**environment);
    for (int i = 0; i < 200; ++i) {
      transaction.put(Table::kLive, fmt::format("{}", i % 50),
                      std::string(static_cast<size_t>(100 + 37 * (i % 40)), 'x'));
      EXPECT_TRUE(transaction.commit());
      // With a checkpoint in the background, this number would depend on its progress.
      bytes.push_back((*environment)->used_bytes());
    }
    return bytes;
  };
  const std::vector<uint64_t> first = used_bytes();
  EXPECT_EQ(used_bytes(), first);
  EXPECT_EQ(used_bytes(), first);
  EXPECT_GT(first.back(), 0U);
}

TEST(Environment, EnforcesTheSoftLimitExceptForCommitsThatMayExceedIt) {
  const Folder folder;
  const auto environment = Environment::open(folder.path(), {.soft_limit_bytes = 100'000});
  ASSERT_TRUE(environment);
  Transaction transaction(**environment);
  transaction.put(Table::kLive, "first", std::string(80'000, 'x'));
  ASSERT_TRUE(transaction.commit());

  transaction.put(Table::kLive, "second", std::string(80'000, 'x'));
  const Status refused = transaction.commit();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "store.full");
  EXPECT_THAT(refused.error().message, HasSubstr(folder.path().string()));
  EXPECT_EQ(transaction.get(Table::kLive, "second"), std::nullopt);
  EXPECT_TRUE(transaction.get(Table::kLive, "first"));

  transaction.put(Table::kLive, "second", std::string(80'000, 'x'));
  EXPECT_TRUE(transaction.commit(Limit::kPassed));
  transaction.erase(Table::kLive, "first");
  transaction.erase(Table::kLive, "second");
  EXPECT_TRUE(transaction.commit());
}

TEST(Environment, DoesNotCountForTheSoftLimitPagesThatTheNextCheckpointFrees) {
  const Folder folder;
  const auto environment = Environment::open(folder.path(), {.soft_limit_bytes = 1'000'000});
  ASSERT_TRUE(environment);
  Transaction transaction(**environment);
  transaction.put(Table::kLive, "large", std::string(900'000, 'x'));
  ASSERT_TRUE(transaction.commit());
  ASSERT_TRUE((*environment)->checkpoint());
  EXPECT_EQ((*environment)->check_room(200'000).error().code, "store.full");
  transaction.erase(Table::kLive, "large");
  ASSERT_TRUE(transaction.commit());
  EXPECT_GE((*environment)->used_bytes(), 900'000U) << "the pages are used until the checkpoint";
  EXPECT_TRUE((*environment)->check_room(200'000));
  transaction.put(Table::kLive, "another", std::string(900'000, 'x'));
  EXPECT_TRUE(transaction.commit());
  transaction.erase(Table::kLive, "another");
  transaction.put(Table::kLive, "in its place", std::string(900'000, 'x'));
  EXPECT_TRUE(transaction.commit());
}

TEST(Environment, SurvivesACheckpointOnAFullDisk) {
  const Folder folder;
  const auto environment = Environment::open(folder.path(), {.reserve_bytes = 0});
  ASSERT_TRUE(environment);
  Transaction transaction(**environment);
  const auto code_of = [](const Status& status) { return status ? "ok" : status.error().code; };
  const auto write = [&](std::string_view key, size_t size, Limit limit) {
    transaction.put(Table::kLive, key, std::string(size, 'x'));
    return code_of(transaction.commit(limit));
  };
  // The journal has allocated this space, the file of LMDB has not.
  EXPECT_EQ(write("first", 1'000'000, Limit::kKept), "ok");
  FileFaults::arm(FileFault::kFull, 1);
  EXPECT_EQ(code_of((*environment)->checkpoint()), "store.full");
  EXPECT_EQ(write("kept", 100, Limit::kKept), "store.full");
  EXPECT_EQ(write("passed", 100, Limit::kPassed), "ok");
  EXPECT_TRUE(transaction.get(Table::kLive, "first"));
  EXPECT_TRUE(transaction.get(Table::kLive, "passed"));
  EXPECT_FALSE(transaction.get(Table::kLive, "kept"));
  FileFaults::disarm();
  EXPECT_EQ(write("kept", 100, Limit::kKept), "ok") << "the commit retried the checkpoint";
  EXPECT_EQ(code_of((*environment)->checkpoint()), "ok");
  EXPECT_TRUE(transaction.get(Table::kLive, "first"));
  EXPECT_TRUE(transaction.get(Table::kLive, "passed"));
}

TEST(Environment, ReportsAFullMapAsStoreFull) {
  const Folder folder;
  const auto environment =
      Environment::open(folder.path(), {.map_bytes = 1 << 20, .reserve_bytes = 0});
  ASSERT_TRUE(environment);
  Transaction transaction(**environment);
  transaction.put(Table::kLive, "small", "v");
  ASSERT_TRUE(transaction.commit());
  transaction.put(Table::kLive, "big", std::string(2 << 20, 'x'));
  const Status refused = transaction.commit();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "store.full");
  EXPECT_EQ(transaction.get(Table::kLive, "small"), "v");
  transaction.put(Table::kLive, "next", "v");
  EXPECT_TRUE(transaction.commit());
}

/// A limit on the size of files simulates a full disk: both end a write with an error in the middle
/// of a commit.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(uint64_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    before_handler_ = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, before_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  sighandler_t before_handler_ = SIG_DFL;
};

TEST(Environment, LosesOnlyTheCurrentBatchOnAFullDisk) {
  const Folder folder;
  const auto environment = Environment::open(folder.path(), {.reserve_bytes = 0});
  ASSERT_TRUE(environment);
  Transaction transaction(**environment);
  transaction.put(Table::kLive, "before", "v");
  ASSERT_TRUE(transaction.commit());
  {
    const FileSizeLimit limit(std::filesystem::file_size(folder.path() / "data.mdb"));
    transaction.put(Table::kLive, "before", "changed");
    transaction.put(Table::kLive, "big", std::string(1 << 20, 'x'));
    const Status refused = transaction.commit();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, "store.full") << refused.error().message;
    EXPECT_EQ(transaction.get(Table::kLive, "before"), "v");
    EXPECT_EQ(transaction.get(Table::kLive, "big"), std::nullopt);
  }
  transaction.put(Table::kLive, "after", "v");
  EXPECT_TRUE(transaction.commit());
  EXPECT_EQ(transaction.get(Table::kLive, "before"), "v");
  EXPECT_EQ(transaction.get(Table::kLive, "after"), "v");
}

TEST(Environment, ReportsAPartialWriteAsStoreFullExceptThatOfALargeValueInLmdb) {
  const Folder folder;
  const auto environment = Environment::open(folder.path(), {.reserve_bytes = 0});
  ASSERT_TRUE(environment);
  Transaction transaction(**environment);
  const auto commit = [&](std::string_view key) {
    transaction.put(Table::kLive, key, std::string(1 << 20, 'x'));
    return transaction.commit();
  };
  const auto code_of = [](const Status& status) { return status ? "ok" : status.error().code; };
  FileFaults::arm(FileFault::kShort, 1);
  EXPECT_EQ(code_of(commit("a")), "store.full") << "the journal cannot be written";
  FileFaults::disarm();
  EXPECT_EQ(transaction.get(Table::kLive, "a"), std::nullopt);

  ASSERT_TRUE(commit("b"));
  FileFaults::arm(FileFault::kShort, 1);
  EXPECT_EQ(code_of((*environment)->checkpoint()), "store.full") << "in LMDB";
  EXPECT_TRUE(transaction.get(Table::kLive, "b"));
  FileFaults::disarm();
  EXPECT_EQ(code_of((*environment)->checkpoint()), "ok");

  // LMDB writes a large value in one call. If there is space for its beginning only, LMDB reports
  // an input/output error. Its cause depends on the space that is left on the disk.
  ASSERT_TRUE(commit("c"));
  const FileSizeLimit limit(std::filesystem::file_size(folder.path() / "data.mdb") + 500'000);
  EXPECT_EQ(code_of((*environment)->checkpoint()), "store.sync");
  EXPECT_EQ(code_of(commit("d")), "store.sync") << "the process has to stop";
}

TEST(Environment, KeepsAReserveOnAFullDiskForCommitsThatMayExceedTheSoftLimit) {
  const Folder folder;
  const auto environment = Environment::open(folder.path(), {.reserve_bytes = 1 << 20});
  ASSERT_TRUE(environment);
  Transaction transaction(**environment);
  int rows = 0;
  const auto add = [&](Limit limit) {
    transaction.put(Table::kLive, std::to_string(++rows), std::string(100'000, 'x'));
    const Status done = transaction.commit(limit);
    return done ? "committed" : done.error().code;
  };
  ASSERT_EQ(add(Limit::kKept), "committed");
  const FileSizeLimit limit(std::filesystem::file_size(folder.path() / "data.mdb"));
  std::string kept;
  do {
    kept = add(Limit::kKept);
  } while (kept == "committed");
  EXPECT_EQ(kept, "store.full");
  for (int i = 0; i < 8; ++i) EXPECT_EQ(add(Limit::kPassed), "committed");
}

}  // namespace
}  // namespace millrace
