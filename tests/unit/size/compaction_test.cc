// Compaction: the store has the same rows in a smaller file, also if the compaction ends early.
#include "orchestrator/size/compaction.h"

#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "orchestrator/size/row_copy.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "tests/support/all_rows.h"
#include "tests/support/file_bytes.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uint64_t kJournalHeader = 4096;

class CompactionTest : public testing::Test {
 protected:
  fs::path data() const { return folder_.path() / "data"; }

  /// Writes many rows, of which most are erased again. The last commits are in the journal only.
  void fill() {
    const auto environment = open(data());
    Transaction tx(*environment);
    const auto key = [](int i) { return fmt::format("{:05}", i); };
    for (int i = 0; i < 2'000; ++i) {
      for (const Table table : {Table::kLive, Table::kHistory}) {
        tx.put(table, key(i), std::string(500, static_cast<char>('a' + i % 26)));
      }
    }
    tx.put(Table::kVariables, "large", std::string(300'000, 'v'));
    ASSERT_TRUE(tx.commit());
    ASSERT_TRUE(environment->checkpoint());
    for (int i = 0; i < 2'000; ++i) {
      if (i % 10 != 0) tx.erase(Table::kLive, key(i));
    }
    ASSERT_TRUE(tx.commit());
    ASSERT_TRUE(environment->checkpoint());
    for (int i = 0; i < 2'000; ++i) {
      if (i % 10 != 0) tx.erase(Table::kHistory, key(i));
    }
    tx.put(Table::kMeta, "late", "value");
    ASSERT_TRUE(tx.commit());
    rows_ = all_rows(tx);
    commit_ = 3;
  }
  static std::unique_ptr<Environment> open(const fs::path& path, bool read_only = false) {
    auto opened = Environment::open(path, {.checkpoints_at_close = false, .read_only = read_only});
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }
  void write(Table table, std::string_view key, std::string value) {
    const auto environment = open(data());
    Transaction tx(*environment);
    tx.put(table, key, std::move(value));
    ASSERT_TRUE(tx.commit());
    rows_ = all_rows(tx);
  }
  void expect_rows(const fs::path& path) const {
    for (const bool read_only : {true, false}) {
      const auto environment = open(path, read_only);
      ASSERT_NE(environment, nullptr);
      const Snapshot view = Snapshot::take(*environment).value();
      EXPECT_EQ(all_rows(view) == rows_, true);
      EXPECT_EQ(view.commit(), commit_);
    }
  }
  Result<Compacted> compact() const { return compact_store({.folder = data()}); }
  std::string outcome() const {
    const auto compacted = compact();
    return compacted ? "compacted" : compacted.error().code;
  }

  Folder folder_{fast_folder()};
  RowsByKey rows_;
  uint64_t commit_ = 0;  ///< the number of the last commit
};

TEST_F(CompactionTest, KeepsTheRowsOfAllCommitsInASmallerFile) {
  fill();
  const auto compacted = compact();
  ASSERT_TRUE(compacted) << compacted.error().message;
  EXPECT_EQ(compacted->folder, fs::canonical(data()));
  EXPECT_EQ(compacted->rows, rows_.size());
  EXPECT_LT(compacted->bytes_after, compacted->bytes_before / 3);
  EXPECT_EQ(compacted->bytes_after, fs::file_size(data() / "data.mdb") + 2 * kJournalHeader);
  EXPECT_EQ(fs::file_size(data() / "journal-0"), kJournalHeader);
  EXPECT_EQ(fs::file_size(data() / "journal-1"), kJournalHeader);
  EXPECT_FALSE(fs::exists(copy_folder(data())));
  expect_rows(data());
  const StoreSize size = open(data())->size().value();
  EXPECT_LT(size.free_bytes, uint64_t{1} << 18);
}

TEST_F(CompactionTest, LetsTheStoreContinueWithTheNextCommit) {
  fill();
  ASSERT_EQ(outcome(), "compacted");
  for (const char* const key : {"first", "second"}) {
    write(Table::kLive, key, "value");
    ++commit_;
    expect_rows(data());
  }
  ASSERT_EQ(outcome(), "compacted") << "again";
  expect_rows(data());
}

TEST_F(CompactionTest, LeavesAStoreWithAllRowsAfterEachStep) {
  fill();
  const Folder copies(fast_folder());
  int steps = 0;
  const auto compacted = compact_store({.folder = data(), .on_step = [&] {
                                          fs::copy(data(), copies.path() / std::to_string(++steps),
                                                   fs::copy_options::recursive);
                                        }});
  ASSERT_TRUE(compacted) << compacted.error().message;
  ASSERT_EQ(steps, 4);
  for (int step = 1; step <= steps; ++step) {
    SCOPED_TRACE(step);
    const fs::path copy = copies.path() / std::to_string(step);
    EXPECT_EQ(fs::exists(copy_folder(copy)), step == 2 || step == 3);
    expect_rows(copy);
    const auto again = compact_store({.folder = copy});
    EXPECT_TRUE(again) << again.error().message;
    EXPECT_FALSE(fs::exists(copy_folder(copy)));
    expect_rows(copy);
  }
}

TEST_F(CompactionTest, IgnoresAndRemovesAPartOfACopy) {
  fill();
  fs::create_directory(copy_folder(data()));
  std::ofstream(copy_folder(data()) / "data.mdb") << "a part of a page";
  expect_rows(data());
  EXPECT_EQ(outcome(), "compacted");
  EXPECT_FALSE(fs::exists(copy_folder(data())));
  expect_rows(data());
}

TEST_F(CompactionTest, LeavesTheFileIfTheDiskHasTooLittleSpace) {
  fill();
  const auto refused =
      compact_store({.folder = data(), .reserve_bytes = std::numeric_limits<uint64_t>::max()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, kNoSpaceToCompact);
  EXPECT_THAT(refused.error().message, HasSubstr(data().string()));
  EXPECT_THAT(refused.error().message, HasSubstr("millrace backup --data"));
  EXPECT_FALSE(fs::exists(copy_folder(data())));
  expect_rows(data());
}

TEST_F(CompactionTest, ChangesNothingInAFolderThatIsInUseOrHasNoStore) {
  EXPECT_EQ(outcome(), "store.not_found");
  EXPECT_FALSE(fs::exists(data()));
  fill();
  const auto environment = open(data());
  EXPECT_EQ(outcome(), "store.locked");
}

TEST_F(CompactionTest, ChangesNothingInAStoreOfALaterFormat) {
  write(Table::kMeta, kFormatKey, std::string("\0\0\0\0\0\0\0\xff", 8));
  const std::string before = file_bytes(data() / "journal-0");
  EXPECT_EQ(outcome(), "store.version") << "a later release may have tables that this one lacks";
  EXPECT_EQ(file_bytes(data() / "journal-0") == before, true);
}

TEST_F(CompactionTest, KeepsThePositionInTheLogOfAStoreOfANode) {
  fill();
  write(Table::kMeta, "log", "any");
  ++commit_;
  EXPECT_EQ(outcome(), "compacted");
  expect_rows(data());
}

TEST_F(CompactionTest, ChangesNothingInAStoreThatLacksRows) {
  write(Table::kMeta, "loading", "any");
  const std::string before = file_bytes(data() / "journal-0");
  EXPECT_EQ(outcome(), "store.joining");
  EXPECT_EQ(file_bytes(data() / "journal-0") == before, true);
}

TEST_F(CompactionTest, ChangesNothingInAStoreWithADamagedPage) {
  fill();
  const std::string whole = file_bytes(data() / "data.mdb");
  std::string damaged = whole;
  for (size_t at = 2 * 4096 + 8; at < damaged.size(); at += 4096) damaged[at + 4] = '\xff';
  std::ofstream(data() / "data.mdb", std::ios::binary) << damaged;
  EXPECT_EQ(outcome(), "store.corrupt");
  EXPECT_EQ(file_bytes(data() / "data.mdb") == damaged, true);
  std::ofstream(data() / "data.mdb", std::ios::binary) << whole;
  expect_rows(data());
}

TEST_F(CompactionTest, ChangesNothingInAStoreWithAnUnknownTree) {
  fill();
  std::string renamed = file_bytes(data() / "data.mdb");
  for (size_t at = 0; (at = renamed.find("hooks", at)) != std::string::npos; ++at) {
    renamed.replace(at, 5, "hoops");
  }
  std::ofstream(data() / "data.mdb", std::ios::binary) << renamed;
  const auto refused = compact();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "tree.unknown");
  EXPECT_THAT(refused.error().message, HasSubstr("the tree \"hoops\""));
  EXPECT_THAT(refused.error().message, HasSubstr("keep a copy of the folder"));
  EXPECT_EQ(file_bytes(data() / "data.mdb") == renamed, true);
}

TEST_F(CompactionTest, CompactsAStoreWithoutACommit) {
  open(data());
  EXPECT_EQ(outcome(), "compacted");
  expect_rows(data());
}

TEST_F(CompactionTest, KeepsTheModeOfTheFileAndFollowsALinkToTheFolder) {
  fill();
  constexpr auto kMode = fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read;
  fs::permissions(data() / "data.mdb", kMode);
  fs::create_directory_symlink(data(), folder_.path() / "link");
  const auto compacted = compact_store({.folder = folder_.path() / "link"});
  ASSERT_TRUE(compacted) << compacted.error().message;
  EXPECT_EQ(compacted->folder, fs::canonical(data()));
  EXPECT_EQ(fs::status(data() / "data.mdb").permissions(), kMode);
  expect_rows(data());
}

TEST_F(CompactionTest, ReportsItsProgress) {
  fill();
  for (int i = 0; i < 5; ++i) {
    const auto environment = open(data());
    Transaction tx(*environment);
    for (int row = 0; row < 1'000; ++row) tx.put(Table::kSent, fmt::format("{} {}", i, row), "v");
    ASSERT_TRUE(tx.commit());
    rows_ = all_rows(tx);
  }
  std::vector<uint64_t> reported;
  uint64_t about = 0;
  ASSERT_TRUE(compact_store({.folder = data(), .progress = [&](uint64_t rows, uint64_t of) {
                               reported.push_back(rows);
                               about = of;
                             }}));
  EXPECT_EQ(about, 2 * rows_.size());
  EXPECT_THAT(reported, testing::ElementsAre(4096, rows_.size() + 4096));
}

}  // namespace
}  // namespace millrace
