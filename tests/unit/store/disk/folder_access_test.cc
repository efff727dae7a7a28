// Data folders to which other users have access, and links in place of files.
#include "orchestrator/store/disk/folder_access.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "orchestrator/store/disk/environment.h"
#include "tests/support/file_bytes.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FolderAccessTest : public testing::Test {
 protected:
  FolderAccessTest() { EXPECT_TRUE(Environment::open(data())); }

  fs::path data() const { return folder_.path() / "data"; }
  fs::path other() const { return folder_.path() / "other"; }
  static std::string code_of(const Result<std::unique_ptr<Environment>>& opened) {
    return opened ? "" : opened.error().code;
  }

  const Folder folder_{fast_folder()};
};

TEST_F(FolderAccessTest, RefusesALinkInPlaceOfEachFile) {
  std::ofstream(other()) << "the file of another program";
  for (const char* const name : {"data.mdb", "lock.mdb", "journal-0", "journal-1", "lock",
                                 "in-hand", "secret-key", "clearing", "node", "tasks", "calls"}) {
    const fs::path kept = folder_.path() / "kept";
    const bool was_there = fs::exists(data() / name);
    if (was_there) fs::rename(data() / name, kept);
    fs::create_symlink(other(), data() / name);
    for (const bool read_only : {false, true}) {
      const auto opened = Environment::open(data(), {.read_only = read_only});
      EXPECT_EQ(code_of(opened), "store.link") << name;
      EXPECT_THAT(opened.error().message, HasSubstr((data() / name).string()));
    }
    fs::remove(data() / name);
    if (was_there) fs::rename(kept, data() / name);
  }
  EXPECT_EQ(file_bytes(other()), "the file of another program");
  EXPECT_EQ(code_of(Environment::open(data())), "");
}

/// To open a pipe would block for as long as no other program opens it.
TEST_F(FolderAccessTest, RefusesAPipeInPlaceOfEachFile) {
  for (const char* const name : {"data.mdb", "lock.mdb", "journal-0", "journal-1", "lock",
                                 "in-hand", "secret-key", "clearing", "node"}) {
    const fs::path kept = folder_.path() / "kept";
    const bool was_there = fs::exists(data() / name);
    if (was_there) fs::rename(data() / name, kept);
    ASSERT_EQ(::mkfifo((data() / name).c_str(), 0600), 0);
    for (const bool read_only : {false, true}) {
      const auto opened = Environment::open(data(), {.read_only = read_only});
      EXPECT_EQ(code_of(opened), "store.link") << name;
      EXPECT_THAT(opened.error().message, HasSubstr((data() / name).string() + " is a pipe"));
    }
    fs::remove(data() / name);
    if (was_there) fs::rename(kept, data() / name);
  }
  EXPECT_EQ(code_of(Environment::open(data())), "");
}

/// millrace would write to the file of the other name.
TEST_F(FolderAccessTest, RefusesAHardLinkInPlaceOfEachFile) {
  for (const char* const name : {"data.mdb", "lock.mdb", "journal-0", "journal-1", "lock",
                                 "in-hand", "secret-key", "clearing", "node"}) {
    const bool was_there = fs::exists(data() / name);
    if (!was_there) std::ofstream(data() / name) << "the file of another program";
    fs::create_hard_link(data() / name, other());
    const std::string bytes = file_bytes(other());
    for (const bool read_only : {false, true}) {
      const auto opened = Environment::open(data(), {.read_only = read_only});
      EXPECT_EQ(code_of(opened), "store.link") << name;
      EXPECT_THAT(opened.error().message,
                  HasSubstr((data() / name).string() + " is a hard link: the file has 2 names"));
    }
    EXPECT_EQ(file_bytes(other()), bytes) << name;
    fs::remove(other());
    if (!was_there) fs::remove(data() / name);
  }
  EXPECT_EQ(code_of(Environment::open(data())), "");
}

TEST_F(FolderAccessTest, TakesALinkToAFolder) {
  fs::create_directory_symlink(data(), other());
  EXPECT_EQ(code_of(Environment::open(other())), "");
}

TEST_F(FolderAccessTest, RefusesAFolderThatEveryUserCanChange) {
  for (const mode_t mode : {0777, 01777, 0702, 0770, 0755, 0700}) {
    ASSERT_EQ(::chmod(data().c_str(), mode), 0);
    EXPECT_EQ(code_of(Environment::open(data())), (mode & 02) != 0 ? "store.exposed" : "") << mode;
    EXPECT_EQ(code_of(Environment::open(data(), {.read_only = true})), "")
        << "a check writes nothing";
  }
}

TEST_F(FolderAccessTest, NamesTheFilesThatOtherUsersMayRead) {
  EXPECT_THAT(exposed_files(data()), IsEmpty());
  ASSERT_EQ(::chmod((data() / "data.mdb").c_str(), 0644), 0);
  EXPECT_THAT(exposed_files(data()), IsEmpty()) << "no other user may enter the folder";
  ASSERT_EQ(::chmod(data().c_str(), 0755), 0);
  EXPECT_THAT(exposed_files(data()), ElementsAre(HasSubstr("data.mdb can be read by every user")));
}

TEST_F(FolderAccessTest, NamesAFolderThatItsGroupCanChange) {
  for (const mode_t mode : {0770, 0775, 0730}) {
    ASSERT_EQ(::chmod(data().c_str(), mode), 0);
    EXPECT_THAT(exposed_files(data()),
                ElementsAre(HasSubstr("can be changed by every user of its group")))
        << mode;
  }
  ASSERT_EQ(::chmod(data().c_str(), 0720), 0);
  EXPECT_THAT(exposed_files(data()), IsEmpty()) << "no other user may enter the folder";
}

}  // namespace
}  // namespace millrace
