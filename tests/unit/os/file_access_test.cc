// Who may use a file besides its owner.
#include "os/file_access.h"

#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/folder.h"

namespace millrace {
namespace {

TEST(FileAccess, NamesTheWidestRightOfUsersOtherThanTheOwner) {
  struct Row {
    mode_t mode;
    std::string right;  ///< empty: there is nothing to warn of
  };
  const Row rows[] = {{0600, ""},
                      {0400, ""},
                      {0700, ""},
                      {0610, ""},
                      {0640, "read by every user of its group"},
                      {0660, "changed by every user of its group"},
                      {0644, "read by every user of this machine"},
                      {0604, "read by every user of this machine"},
                      {0664, "read by every user of this machine"},
                      {0602, "changed by every user of this machine"},
                      {0666, "changed by every user of this machine"}};
  const Folder folder;
  const std::filesystem::path file = folder.path() / "key";
  const std::filesystem::path link = folder.path() / "link";
  std::ofstream(file) << "k";
  std::filesystem::create_symlink(file, link);
  for (const auto& [mode, right] : rows) {
    ASSERT_EQ(::chmod(file.c_str(), mode), 0);
    for (const auto& path : {file, link}) {
      const std::string expected =
          right.empty() ? "" : path.string() + " can be " + right + "; chmod 600 it";
      EXPECT_EQ(exposure_of(path).value_or(""), expected) << mode;
    }
  }
}

TEST(FileAccess, WarnsOfNoFileThatDoesNotExist) {
  EXPECT_EQ(exposure_of("/nothing/here"), std::nullopt);
  EXPECT_EQ(access_to("/nothing/here").error().code, "file.unreadable");
}

}  // namespace
}  // namespace millrace
