// The files of a store that is removed or moved: which ones stay, and what a crash in between
// leaves.
#include "orchestrator/store/disk/store_files.h"

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/transaction.h"
#include "tests/support/all_rows.h"
#include "tests/support/file_bytes.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

class StoreFilesTest : public testing::Test {
 protected:
  StoreFilesTest() {
    const auto environment = open();
    EXPECT_TRUE(environment->keep_key());
    Transaction tx(*environment);
    tx.put(Table::kLive, "a", "1");
    EXPECT_TRUE(tx.commit());
    std::ofstream(data() / "in-hand") << "a note";
    std::ofstream(data() / "restored") << "another note";
    fs::create_directory(data() / "tasks");
    key_ = file_bytes(data() / "secret-key");
  }

  fs::path data() const { return folder_.path() / "data"; }
  std::unique_ptr<Environment> open(EnvironmentOptions options = {}) const {
    options.reserve_bytes = 0;
    return Environment::open(data(), options).value();
  }
  std::string code_of_open() const {
    const auto opened = Environment::open(data());
    return opened ? "ok" : opened.error().code;
  }
  static std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  const Folder folder_{fast_folder()};
  std::string key_;
};

std::string code_of_clearing(const Status& done) { return done ? "ok" : done.error().code; }

TEST_F(StoreFilesTest, AreRemovedButNotTheLockTheKeyAndOtherFiles) {
  const std::string mark = open()->mark().value();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(code_of_clearing(clear_store(data())), "ok");
    EXPECT_THAT(names_in(data()), UnorderedElementsAre("lock", "secret-key", "tasks"));
  }
  EXPECT_EQ(file_bytes(data() / "secret-key"), key_);
  const auto environment = open();
  EXPECT_EQ(environment->mark().value(), mark);
  EXPECT_THAT(all_rows(Snapshot::take(*environment).value()), IsEmpty());
}

TEST_F(StoreFilesTest, AreMovedIntoAFolderThatIsAStore) {
  const RowsByKey rows = rows_in_folder(data());
  ASSERT_EQ(rows.size(), 1U);
  const auto aside = set_store_aside(data(), "replaced-1");
  ASSERT_TRUE(aside) << aside.error().message;
  EXPECT_EQ(*aside, data() / "replaced-1");
  EXPECT_THAT(names_in(data()), UnorderedElementsAre("lock", "secret-key", "tasks", "replaced-1"));
  EXPECT_EQ(fs::status(*aside).permissions(), fs::perms::owner_all);
  EXPECT_EQ(file_bytes(*aside / "in-hand"), "a note");
  EXPECT_EQ(file_bytes(*aside / "restored"), "another note");
  EXPECT_EQ(rows_in_folder(*aside), rows);
  EXPECT_THAT(all_rows(Snapshot::take(*open()).value()), IsEmpty());
}

TEST_F(StoreFilesTest, AreNotMovedOverAnotherStore) {
  ASSERT_TRUE(set_store_aside(data(), "replaced-1"));
  const RowsByKey aside = rows_in_folder(data() / "replaced-1");
  open();
  const auto again = set_store_aside(data(), "replaced-1");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, "store.io");
  EXPECT_THAT(again.error().message, HasSubstr("replaced-1"));
  EXPECT_EQ(rows_in_folder(data() / "replaced-1"), aside);
  EXPECT_TRUE(fs::exists(data() / "data.mdb"));
}

TEST_F(StoreFilesTest, StayIfTheFolderIsOpen) {
  const auto environment = open();
  const std::vector<std::string> before = names_in(data());
  EXPECT_EQ(code_of_clearing(clear_store(data())), "store.locked");
  const auto aside = set_store_aside(data(), "replaced-1");
  ASSERT_FALSE(aside);
  EXPECT_EQ(aside.error().code, "store.locked");
  EXPECT_THAT(names_in(data()), UnorderedElementsAreArray(before));
}

TEST_F(StoreFilesTest, AreRefusedUntilAllOfThemAreRemoved) {
  fs::remove(data() / "in-hand");
  fs::create_directory(data() / "in-hand");  // which is not removed as a file is
  const Status done = clear_store(data());
  EXPECT_EQ(code_of_clearing(done), "store.io");
  EXPECT_THAT(done.error().message, HasSubstr((data() / "in-hand").string()));
  EXPECT_EQ(code_of_open(), "store.joining");
  fs::remove(data() / "in-hand");
  EXPECT_EQ(code_of_clearing(clear_store(data())), "ok");
  EXPECT_EQ(code_of_open(), "ok");
}

// The process may end after each file.
TEST_F(StoreFilesTest, AreRemovedOrMovedAfterARestartIfTheProcessEndsBefore) {
  const std::vector<const char*> order = {"in-hand",   "restored",  "lock.mdb",
                                          "journal-0", "journal-1", "data.mdb"};
  for (size_t removed = 0; removed <= order.size(); ++removed) {
    const fs::path copy = folder_.path() / "copy";
    fs::copy(data(), copy, fs::copy_options::recursive);
    std::ofstream(copy / "clearing") << "";
    for (size_t i = 0; i < removed; ++i) fs::remove(copy / order[i]);
    for (const bool read_only : {false, true}) {
      const auto refused = Environment::open(copy, {.read_only = read_only});
      ASSERT_FALSE(refused) << removed;
      EXPECT_EQ(refused.error().code, "store.joining") << removed;
    }
    EXPECT_EQ(set_store_aside(copy, "replaced-1").error().code, "store.joining");
    EXPECT_EQ(code_of_clearing(clear_store(copy)), "ok");
    EXPECT_THAT(names_in(copy), UnorderedElementsAre("lock", "secret-key", "tasks"));
    fs::remove_all(copy);
  }
  const RowsByKey rows = rows_in_folder(data());
  for (size_t moved = 0; moved <= order.size(); ++moved) {
    const fs::path copy = folder_.path() / "copy";
    fs::copy(data(), copy, fs::copy_options::recursive);
    std::ofstream(copy / "clearing") << "replaced-1";
    if (moved > 0) fs::create_directory(copy / "replaced-1");
    for (size_t i = 0; i < moved; ++i) {
      if (fs::exists(copy / order[i])) {
        fs::rename(copy / order[i], copy / "replaced-1" / order[i]);
      }
    }
    EXPECT_EQ(Environment::open(copy).error().code, "store.joining") << moved;
    EXPECT_EQ(code_of_clearing(clear_store(copy)), "ok");
    EXPECT_THAT(names_in(copy), UnorderedElementsAre("lock", "secret-key", "tasks", "replaced-1"));
    EXPECT_EQ(rows_in_folder(copy / "replaced-1"), rows) << moved;
    fs::remove_all(copy);
  }
}

TEST_F(StoreFilesTest, AreNotMovedOutOfTheFolder) {
  for (const char* const name : {"../other", "a/b", "/tmp", ".", ".."}) {
    std::ofstream(data() / "clearing") << name;
    const Status done = clear_store(data());
    EXPECT_EQ(code_of_clearing(done), "store.io") << name;
    EXPECT_TRUE(fs::exists(data() / "data.mdb"));
  }
}

}  // namespace
}  // namespace millrace
