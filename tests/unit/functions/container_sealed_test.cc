// Sealed tasks on the fake runtime: the files of a call that gets a secret are in memory only, in a
// folder to which no other user has access.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "functions/container_folder.h"
#include "tests/unit/functions/container_fixture.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

class SealedTaskTest : public ContainerTest {
 protected:
  void SetUp() override {
    if (const auto made = prepare_sealed_folder(sealed()); !made) {
      GTEST_SKIP() << made.error().message;
    }
    settings_.sealed_folder = sealed();
  }

  static Task sealed(Task task) {
    task.sealed = true;
    return task;
  }
  fs::path sealed() const { return memory_.path() / "sealed"; }
  /// The folder of this machine that the container number `index` got.
  std::string source(size_t index) const {
    const std::string mount = option(index, "mount");
    const size_t begin = mount.find("source=") + 7;
    return mount.substr(begin, mount.find(',', begin) - begin);
  }

  const Folder memory_{fast_folder()};
};

TEST_F(SealedTaskTest, HasItsFilesInMemoryOnly) {
  // The container searches for its input on the disk, while it runs.
  runtime_.add_image("search", fmt::format("grep -r '\"a\":1' {} >&2 && exit 3; cat {}/input.json",
                                           settings_.folder.string(), "$data"));
  const TaskEnded ended = run(sealed(isolated(1, "search")));
  ASSERT_TRUE(ended.result) << ended.result.error().message;
  EXPECT_EQ(*ended.result, R"({"a":1})");
  EXPECT_THAT(source(0), HasSubstr(sealed().string() + "/"));
  EXPECT_TRUE(eventually([&] { return fs::is_empty(sealed()); }));
  const TaskEnded other = run(isolated(2, "search"));
  ASSERT_FALSE(other.result) << "the files of other tasks are on the disk";
  EXPECT_THAT(other.result.error().message, HasSubstr("code 3"));
  runner_.reset();
  EXPECT_FALSE(fs::exists(sealed()));
}

TEST_F(SealedTaskTest, HasContainersOfItsOwnInAPool) {
  runtime_.add_image("serve", "exec sleep 1000");
  runner().run(reusable(1, "serve"));
  ASSERT_TRUE(has_started(1));
  runner().run(sealed(reusable(2, "serve")));
  ASSERT_TRUE(has_started(2));
  EXPECT_THAT(source(0), HasSubstr(settings_.folder.string() + "/"));
  EXPECT_THAT(source(1), HasSubstr(sealed().string() + "/"));
}

TEST_F(SealedTaskTest, FailsIfNoFolderIsInMemory) {
  settings_.sealed_folder = "/proc/self/sealed";
  runtime_.add_image("true", "echo 1");
  for (const Task& task : {isolated(1, "true"), reusable(2, "true")}) {
    const TaskEnded ended = run(sealed(task));
    ASSERT_FALSE(ended.result);
    EXPECT_EQ(ended.result.error().code, kFunctionFiles);
    EXPECT_THAT(ended.result.error().message, HasSubstr("--memory-folder"));
  }
  EXPECT_TRUE(run(isolated(3, "true")).result) << "other tasks need no folder in memory";
  EXPECT_EQ(runtime_.calls("run").size(), 1u);
}

TEST_F(SealedTaskTest, EmptiesTheFolderOfAnEarlierProcess) {
  fs::create_directories(sealed() / "old" / "vars");
  std::ofstream(sealed() / "old" / "input.json") << "1";
  ASSERT_TRUE(prepare_sealed_folder(sealed()));
  EXPECT_TRUE(fs::is_empty(sealed()));
}

TEST_F(SealedTaskTest, UsesNoFolderOfAnotherUser) {
  const fs::path other = memory_.path() / "other";
  fs::create_directory(other);
  std::ofstream(other / "file") << "1";
  fs::remove(sealed());
  fs::create_directory_symlink(other, sealed());
  EXPECT_FALSE(prepare_sealed_folder(sealed())) << "a link";
  fs::remove(sealed());
  ASSERT_EQ(::mkdir(sealed().c_str(), 0700), 0);
  ASSERT_EQ(::chmod(sealed().c_str(), 0750), 0);
  EXPECT_FALSE(prepare_sealed_folder(sealed())) << "a folder that a group may read";
  fs::remove(sealed());
  std::ofstream(sealed()) << "1";
  EXPECT_FALSE(prepare_sealed_folder(sealed())) << "a file";
  EXPECT_TRUE(fs::exists(other / "file"));
}

TEST_F(SealedTaskTest, DoesNotFollowALinkInPlaceOfTheFolderOfOtherTasks) {
  const fs::path other = folder_.path() / "other";
  fs::create_directory(other);
  std::ofstream(other / "file") << "1";
  fs::create_directory_symlink(other, settings_.folder);
  prepare_container_folder(settings_.folder);
  EXPECT_FALSE(fs::is_symlink(settings_.folder));
  EXPECT_TRUE(fs::exists(other / "file"));
}

}  // namespace
}  // namespace millrace
