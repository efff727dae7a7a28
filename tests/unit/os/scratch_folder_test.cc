#include "os/scratch_folder.h"

#include <cstdlib>
#include <fstream>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/environment_variable.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ScratchFolderTest : public testing::Test {
 protected:
  /// Creates a parent for the folders of the test.
  ScratchFolderTest() : parent_(ScratchFolder::make("scratch-folder-test").value()) {}

  size_t entries() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator(parent_.path())) {
      ++count;
    }
    return count;
  }

  ScratchFolder parent_;
};

TEST_F(ScratchFolderTest, IsEmptyAndPrivateAndHasTheGivenPrefix) {
  const ScratchFolder folder = ScratchFolder::make_in(parent_.path(), "name").value();
  EXPECT_EQ(folder.path().parent_path(), parent_.path());
  EXPECT_THAT(folder.path().filename(), StartsWith("name-"));
  EXPECT_TRUE(std::filesystem::is_directory(folder.path()));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ(std::filesystem::status(folder.path()).permissions(),
            std::filesystem::perms::owner_all);
}

TEST_F(ScratchFolderTest, HasAUniquePath) {
  const ScratchFolder one = ScratchFolder::make_in(parent_.path(), "name").value();
  const ScratchFolder other = ScratchFolder::make_in(parent_.path(), "name").value();
  EXPECT_NE(one.path(), other.path());
  EXPECT_EQ(entries(), 2U);
}

TEST_F(ScratchFolderTest, IsRemovedWithItsContents) {
  {
    const ScratchFolder folder = ScratchFolder::make_in(parent_.path(), "name").value();
    std::filesystem::create_directories(folder.path() / "a" / "b");
    std::ofstream(folder.path() / "a" / "b" / "file") << "bytes";
  }
  EXPECT_EQ(entries(), 0U);
}

TEST_F(ScratchFolderTest, DoesNotRemoveTheTargetsOfItsSymbolicLinks) {
  std::ofstream(parent_.path() / "kept") << "bytes";
  {
    const ScratchFolder folder = ScratchFolder::make_in(parent_.path(), "name").value();
    std::filesystem::create_symlink(parent_.path() / "kept", folder.path() / "link");
    std::filesystem::create_directory_symlink(parent_.path(), folder.path() / "folder");
  }
  EXPECT_EQ(entries(), 1U);
  EXPECT_TRUE(std::filesystem::exists(parent_.path() / "kept"));
}

TEST_F(ScratchFolderTest, MayBeRemovedBeforeItsDestructorRuns) {
  std::optional<ScratchFolder> folder = ScratchFolder::make_in(parent_.path(), "name").value();
  std::filesystem::remove(folder->path());
  folder.reset();
  EXPECT_EQ(entries(), 0U);
}

TEST_F(ScratchFolderTest, IsRemovedByTheObjectThatItWasMovedTo) {
  std::optional<ScratchFolder> first = ScratchFolder::make_in(parent_.path(), "name").value();
  const std::filesystem::path path = first->path();
  {
    const ScratchFolder second = *std::move(first);
    EXPECT_EQ(second.path(), path);
    first = std::nullopt;
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ScratchFolderTest, IsCreatedInTheFolderThatTheVariableTmpdirNames) {
  const EnvironmentVariable variable("TMPDIR", parent_.path());
  const ScratchFolder folder = ScratchFolder::make("name").value();
  EXPECT_EQ(folder.path().parent_path(), parent_.path());
}

TEST_F(ScratchFolderTest, NamesTheParentFolderInAnError) {
  std::ofstream(parent_.path() / "file") << "bytes";
  for (const char* name : {"missing", "file"}) {
    const auto made = ScratchFolder::make_in(parent_.path() / name, "name");
    ASSERT_FALSE(made) << name;
    EXPECT_EQ(made.error().code, "scratch.folder");
    EXPECT_THAT(made.error().message, HasSubstr((parent_.path() / name).string()));
  }
}

TEST_F(ScratchFolderTest, IsNotCreatedIfTheVariableTmpdirNamesAMissingFolder) {
  const EnvironmentVariable variable("TMPDIR", (parent_.path() / "missing").string());
  const auto made = ScratchFolder::make("name");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, "scratch.folder");
  EXPECT_THAT(made.error().message, HasSubstr("no folder for temporary files"));
}

}  // namespace
}  // namespace millrace
