#include "orchestrator/store/disk/environment.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/transaction.h"
#include "tests/support/file_bytes.h"
#include "tests/support/file_faults.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

using testing::HasSubstr;

TEST(Environment, CreatesAFolderThatOnlyTheUserOfTheProcessCanRead) {
  const Folder parent;
  const std::filesystem::path folder = parent.path() / "deep" / "data";
  const auto environment = Environment::open(folder);
  ASSERT_TRUE(environment) << environment.error().message;
  struct stat found {};
  ASSERT_EQ(::stat(folder.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700U);
  EXPECT_EQ((*environment)->folder(), folder);
}

TEST(Environment, LocksItsFolder) {
  const Folder folder;
  {
    const auto first = Environment::open(folder.path());
    ASSERT_TRUE(first) << first.error().message;
    const auto second = Environment::open(folder.path());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, "store.locked");
    EXPECT_THAT(second.error().message, HasSubstr(folder.path().string()));
    EXPECT_THAT(second.error().message, HasSubstr(std::to_string(::getpid())));
  }
  EXPECT_TRUE(Environment::open(folder.path())) << "the lock is released";
}

TEST(Environment, KeepsTheTimeAtWhichItsFolderWasMade) {
  const Folder parent;
  const auto made_in = [&](const char* name) {
    return Environment::open(parent.path() / name).value()->made();
  };
  const std::optional<TimePoint> made = made_in("a");
  EXPECT_EQ(made_in("a"), made);
  std::filesystem::copy(parent.path() / "a", parent.path() / "copy",
                        std::filesystem::copy_options::recursive);
  EXPECT_GE(made_in("copy"), made) << "the copy is a younger folder";
  std::filesystem::rename(parent.path() / "a", parent.path() / "b");
  EXPECT_EQ(made_in("b"), made);
}

std::map<std::string, std::string> files_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename() == "lock") continue;  // the file has the id of the process
    files[entry.path().filename()] = file_bytes(entry.path());
  }
  return files;
}

TEST(Environment, ReadsTheJournalAndWritesNothingIfOpenedReadOnly) {
  const Folder folder;
  {
    const auto environment =
        Environment::open(folder.path(), {.checkpoints_at_close = false}).value();
    Transaction tx(*environment);
    tx.put(Table::kMeta, "in LMDB", "1");
    ASSERT_TRUE(tx.commit());
    ASSERT_TRUE(environment->checkpoint());
    tx.put(Table::kMeta, "in the journal", "2");
    ASSERT_TRUE(tx.commit());
  }
  const auto before = files_of(folder.path());
  {
    const auto environment = Environment::open(folder.path(), {.read_only = true});
    ASSERT_TRUE(environment) << environment.error().message;
    const Snapshot view = Snapshot::take(**environment).value();
    EXPECT_EQ(view.get(Table::kMeta, "in LMDB"), "1");
    EXPECT_EQ(view.get(Table::kMeta, "in the journal"), "2");
    EXPECT_TRUE((*environment)->key_is_new()) << "there is no key file, and none is created";
    EXPECT_FALSE(Environment::open(folder.path())) << "no server may start meanwhile";
  }
  EXPECT_EQ(files_of(folder.path()) == before, true);
}

TEST(Environment, NeedsNoLockFileAndRefusesTransactionsIfOpenedReadOnly) {
  const Folder folder;
  { ASSERT_TRUE(Environment::open(folder.path())); }
  std::filesystem::remove(folder.path() / "lock");
  const auto environment = Environment::open(folder.path(), {.read_only = true});
  ASSERT_TRUE(environment) << environment.error().message;
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "lock"));
  EXPECT_DEATH(Transaction{**environment}, "read-only");
}

TEST(Environment, DoesNotCreateAStoreIfOpenedReadOnly) {
  const Folder folder;
  for (const char* const name : {"", "missing"}) {
    const auto environment = Environment::open(folder.path() / name, {.read_only = true});
    ASSERT_FALSE(environment);
    EXPECT_EQ(environment.error().code, "store.not_found");
    EXPECT_THAT(environment.error().message, HasSubstr(folder.path().string()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Environment, CreatesNothingIfTheKeyFileThatIsNamedIsMissing) {
  const Folder parent;
  const auto environment =
      Environment::open(parent.path() / "data", {.key_file = parent.path() / "no-key"});
  ASSERT_FALSE(environment);
  EXPECT_EQ(environment.error().code, "store.key");
  EXPECT_TRUE(std::filesystem::is_empty(parent.path()));
}

TEST(Environment, NamesAFolderThatItCannotUse) {
  const Folder folder;
  std::ofstream(folder.path() / "file") << "x";
  const auto in_a_file = Environment::open(folder.path() / "file" / "data");
  ASSERT_FALSE(in_a_file);
  EXPECT_EQ(in_a_file.error().code, "store.io");
  EXPECT_THAT(in_a_file.error().message, HasSubstr((folder.path() / "file" / "data").string()));

  const auto a_file = Environment::open(folder.path() / "file");
  ASSERT_FALSE(a_file);
  EXPECT_EQ(a_file.error().code, "store.io");

  std::ofstream(folder.path() / "data.mdb") << std::string(100000, 'x');
  const auto other_bytes = Environment::open(folder.path());
  ASSERT_FALSE(other_bytes);
  EXPECT_EQ(other_bytes.error().code, "store.corrupt");
}

TEST(Environment, UsesASmallerMapWhenAddressSpaceIsScarce) {
  const Folder folder;
  const uint64_t more_than_there_is = uint64_t{1} << 50;
  const auto environment = Environment::open(folder.path(), {.map_bytes = more_than_there_is});
  ASSERT_TRUE(environment) << environment.error().message;
  Transaction transaction(**environment);
  transaction.put(Table::kMeta, "k", "v");
  EXPECT_TRUE(transaction.commit());
}

TEST(Environment, ReportsAFailedSyncWithTheCodeStoreSync) {
  const Folder folder;
  const auto environment = Environment::open(folder.path());
  ASSERT_TRUE(environment);
  Transaction transaction(**environment);
  transaction.put(Table::kLive, "before", "v");
  ASSERT_TRUE(transaction.commit());

  transaction.put(Table::kLive, "row", "v");
  FileFaults::arm(FileFault::kSync, 1);
  const Status failed = transaction.commit();
  FileFaults::disarm();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, "store.sync") << failed.error().message;
  EXPECT_THAT(failed.error().message, HasSubstr(folder.path().string()));
  EXPECT_EQ(transaction.get(Table::kLive, "before"), "v");
  EXPECT_EQ(transaction.get(Table::kLive, "row"), std::nullopt);
}

/// Writes rows into some hundred pages of the file; returns its path.
std::filesystem::path write_many_rows(const Folder& folder) {
  const auto environment = Environment::open(folder.path(), {.reserve_bytes = 0});
  CHECK(environment);
  Transaction transaction(**environment);
  for (int i = 0; i < 20'000; ++i) {
    transaction.put(Table::kLive, fmt::format("{:08}", i), std::string(100, 'x'));
  }
  CHECK(transaction.commit());
  return folder.path() / "data.mdb";
}

TEST(Environment, ReportsATruncatedFileAsCorrupt) {
  const Folder folder;
  const std::filesystem::path file = write_many_rows(folder);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  const auto environment = Environment::open(folder.path());
  ASSERT_FALSE(environment);
  EXPECT_EQ(environment.error().code, "store.corrupt");
  EXPECT_THAT(environment.error().message, HasSubstr(folder.path().string()));
}

TEST(Environment, RefusesACommitAfterAReadOfADamagedPage) {
  const Folder folder;
  const std::filesystem::path path = write_many_rows(folder);
  const auto environment = Environment::open(folder.path());
  ASSERT_TRUE(environment) << environment.error().message;
  {  // damages pages after the start, because the start checks them
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100 * 4096);
    file << std::string(50 * 4096, '\0');
  }
  Transaction transaction(**environment);
  EXPECT_TRUE(transaction.get(Table::kLive, "00000000"));
  EXPECT_TRUE(transaction.status());
  EXPECT_EQ(transaction.get(Table::kLive, "00004000"), std::nullopt);
  ASSERT_FALSE(transaction.status());
  EXPECT_EQ(transaction.status().error().code, "store.corrupt");

  transaction.put(Table::kMeta, "conclusion", "drawn from what could not be read");
  const Status refused = transaction.commit();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "store.corrupt");
  EXPECT_EQ(transaction.get(Table::kMeta, "conclusion"), std::nullopt);
}

TEST(Environment, ReportsAnEmptyDataFileBeforeItReadsTheJournal) {
  const Folder folder;
  {
    auto environment = Environment::open(folder.path());
    ASSERT_TRUE(environment);
    Transaction tx(**environment);
    for (int i = 0; i < 3; ++i) {  // both journals start again
      tx.put(Table::kLive, "key", "value");
      ASSERT_TRUE(tx.commit());
      ASSERT_TRUE((*environment)->checkpoint());
    }
  }
  std::filesystem::resize_file(folder.path() / "data.mdb", 0);
  const auto opened = Environment::open(folder.path());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, "store.corrupt");
  EXPECT_NE(opened.error().message.find("data.mdb was emptied, removed or replaced"),
            std::string::npos)
      << opened.error().message;
  EXPECT_EQ(std::filesystem::file_size(folder.path() / "data.mdb"), 0U) << "nothing is written";

  const auto to_read = Environment::open(folder.path(), {.read_only = true});
  ASSERT_FALSE(to_read);
  EXPECT_EQ(to_read.error().code, "store.corrupt");
  EXPECT_EQ(to_read.error().message, opened.error().message);

  std::filesystem::remove(folder.path() / "data.mdb");
  EXPECT_FALSE(Environment::open(folder.path()));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "data.mdb"));
}

/// Replaces each occurrence of a word in a file.
void replace_in(const std::filesystem::path& path, std::string_view from, std::string_view to) {
  std::string bytes = file_bytes(path);
  for (size_t at = 0; (at = bytes.find(from, at)) != std::string::npos; at += to.size()) {
    bytes.replace(at, from.size(), to);
  }
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

TEST(Environment, RefusesAStoreThatLacksOneOfItsTrees) {
  const Folder folder;
  {
    auto environment = Environment::open(folder.path()).value();
    Transaction tx(*environment);
    ASSERT_TRUE(check_format(tx));
  }
  for (const char* const tree : {"live", "variables", "dead_letters", "meta"}) {
    std::string other = tree;
    other.back() = '#';
    replace_in(folder.path() / "data.mdb", tree, other);
    for (int start = 0; start < 2; ++start) {
      const auto opened = Environment::open(folder.path());
      ASSERT_FALSE(opened) << tree << start;
      EXPECT_EQ(opened.error().code, "store.corrupt");
      EXPECT_NE(opened.error().message.find(fmt::format("has no tree \"{}\"", tree)),
                std::string::npos)
          << opened.error().message;
    }
    replace_in(folder.path() / "data.mdb", other, tree);
  }
  EXPECT_TRUE(Environment::open(folder.path()));
}

}  // namespace
}  // namespace millrace
