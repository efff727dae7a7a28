#include "os/write_file.h"

#include <cerrno>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "os/descriptor.h"
#include "tests/support/file_bytes.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

TEST(WriteAll, WritesAllBytes) {
  const Folder folder;
  const auto path = folder.path() / "file";
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const std::string bytes(300'000, 'x');
  EXPECT_EQ(write_all(file.fd(), bytes), 0);
  EXPECT_EQ(write_all(file.fd(), ""), 0);
  EXPECT_EQ(write_all(file.fd(), "y"), 0);
  EXPECT_EQ(file_bytes(path), bytes + "y");
}

TEST(WriteAll, ReturnsTheNumberOfTheError) {
  const Descriptor file(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(write_all(file.fd(), "x"), ENOSPC);
}

TEST(SyncFolder, ReturnsTheNumberOfTheErrorOfAMissingFolder) {
  const Folder folder;
  EXPECT_EQ(sync_folder(folder.path()), 0);
  EXPECT_EQ(sync_folder(folder.path() / "missing"), ENOENT);
}

TEST(ReplaceFile, CreatesAFileOrReplacesItsContent) {
  const Folder folder;
  const auto path = folder.path() / "file";
  EXPECT_EQ(replace_file(path, "first"), 0);
  EXPECT_EQ(file_bytes(path), "first");
  EXPECT_EQ(replace_file(path, ""), 0);
  EXPECT_EQ(file_bytes(path), "");
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".new"));
}

TEST(ReplaceFile, ReturnsTheNumberOfTheErrorAndLeavesThePreviousContent) {
  const Folder folder;
  EXPECT_EQ(replace_file(folder.path() / "missing" / "file", "x"), ENOENT);
  const auto path = folder.path() / "file";
  EXPECT_EQ(replace_file(path, "first"), 0);
  std::filesystem::create_directory(path.string() + ".new");
  EXPECT_EQ(replace_file(path, "second"), EISDIR);
  EXPECT_EQ(file_bytes(path), "first");
}

TEST(ReplaceFile, WritesToNoFileToWhichALinkPoints) {
  const Folder folder;
  const auto path = folder.path() / "file";
  const auto other = folder.path() / "other";
  EXPECT_EQ(replace_file(other, "of another program"), 0);
  std::filesystem::create_symlink(other, path.string() + ".new");
  EXPECT_EQ(replace_file(path, "first"), ELOOP);
  EXPECT_EQ(file_bytes(other), "of another program");
}

}  // namespace
}  // namespace millrace
