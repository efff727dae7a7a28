#include "os/programs.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/environment_variable.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

class ProgramsTest : public testing::Test {
 protected:
  /// Creates a file in the given folder and returns its path.
  std::string make(const std::string& folder, const std::string& name, mode_t mode = 0755) {
    const std::filesystem::path path = folder_.path() / folder / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "#!/bin/sh\n";
    ::chmod(path.c_str(), mode);
    return path;
  }
  std::string path_to(const std::string& folder) const { return folder_.path() / folder; }

  Folder folder_;
};

TEST_F(ProgramsTest, AreFoundInTheFirstFolderOfThePathVariableThatHasThem) {
  make("b", "tool-of-a-test");
  const std::string first = make("a", "tool-of-a-test");
  const EnvironmentVariable path("PATH",
                                 (path_to("empty") + ":" + path_to("a") + ":" + path_to("b")));
  EXPECT_EQ(find_program("tool-of-a-test"), first);
}

TEST_F(ProgramsTest, AreSkippedIfTheyAreNotExecutable) {
  make("a", "tool-of-a-test", 0644);
  const std::string second = make("b", "tool-of-a-test");
  const EnvironmentVariable path("PATH", (path_to("a") + ":" + path_to("b")));
  EXPECT_EQ(find_program("tool-of-a-test"), second);
}

TEST_F(ProgramsTest, AreSkippedIfTheyAreFolders) {
  std::filesystem::create_directories(folder_.path() / "a" / "tool-of-a-test");
  const std::string second = make("b", "tool-of-a-test");
  const EnvironmentVariable path("PATH", (path_to("a") + ":" + path_to("b")));
  EXPECT_EQ(find_program("tool-of-a-test"), second);
  EXPECT_EQ(find_program(path_to("a") + "/tool-of-a-test"), "");
}

TEST_F(ProgramsTest, AreNotSearchedIfTheirNameHasASlash) {
  const std::string program = make("a", "tool-of-a-test");
  const std::string file = make("a", "file", 0644);
  const EnvironmentVariable path("PATH", path_to("a"));
  EXPECT_EQ(find_program(program), program);
  EXPECT_EQ(find_program(file), "");
  EXPECT_EQ(find_program("./tool-of-a-test"), "") << "a name with a slash is not searched in PATH";
}

TEST_F(ProgramsTest, HaveAnEmptyPathIfTheyAreNotFound) {
  const EnvironmentVariable path("PATH", path_to("a"));
  EXPECT_EQ(find_program("tool-of-a-test"), "");
  EXPECT_EQ(find_program(path_to("a") + "/tool-of-a-test"), "");
  EXPECT_EQ(find_program(""), "");
}

TEST_F(ProgramsTest, AreSearchedInTheSystemFoldersIfThePathVariableIsNotSet) {
  const EnvironmentVariable path("PATH", std::nullopt);
  EXPECT_EQ(find_program("env"), "/usr/bin/env");
  EXPECT_EQ(find_program("tool-of-a-test"), "");
}

TEST_F(ProgramsTest, AreSearchedInTheFoldersOfAdministratorsAfterThoseOfThePathVariable) {
  const std::string own = make("a", "ldconfig");
  {
    const EnvironmentVariable path("PATH", path_to("empty"));
    EXPECT_EQ(find_program("ldconfig"), "/usr/sbin/ldconfig");
  }
  const EnvironmentVariable path("PATH", path_to("a"));
  EXPECT_EQ(find_program("ldconfig"), own);
}

TEST_F(ProgramsTest, AreSearchedInTheWorkingFolderIfThePathVariableHasAnEmptyFolderName) {
  make("a", "tool-of-a-test");
  const std::filesystem::path before = std::filesystem::current_path();
  const EnvironmentVariable path("PATH", (":" + path_to("empty")));
  EXPECT_EQ(find_program("tool-of-a-test"), "");
  std::filesystem::current_path(folder_.path() / "a");
  EXPECT_EQ(find_program("tool-of-a-test"), "./tool-of-a-test");
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace millrace
