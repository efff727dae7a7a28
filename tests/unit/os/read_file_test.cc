#include "os/read_file.h"

#include <fstream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/descriptor.h"
#include "tests/support/few_descriptors.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

using testing::HasSubstr;

class ReadFileTest : public testing::Test {
 protected:
  std::string write(std::string_view bytes) {
    const std::filesystem::path path = folder_.path() / "file";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  /// Expects an error, and returns its message.
  static std::string refused(const std::filesystem::path& path, size_t most_bytes = 100) {
    const Result<std::string> read = read_file(path, most_bytes);
    if (read) return "no error: the file was read";
    EXPECT_EQ(read.error().code, "file.unreadable");
    EXPECT_THAT(read.error().message, testing::StartsWith(path.string() + ": "));
    return read.error().message;
  }

  Folder folder_;
};

TEST_F(ReadFileTest, ReturnsAllBytesOfAFileUnchanged) {
  const std::string bytes("a\0b\r\n\xff", 6);
  EXPECT_EQ(read_file(write(bytes), 100).value(), bytes);
  EXPECT_EQ(read_file(write(""), 100).value(), "");
}

TEST_F(ReadFileTest, ReadsAFileThatIsLargerThanABuffer) {
  std::string bytes;
  for (int i = 0; bytes.size() < 200'001; ++i) bytes += std::to_string(i);
  EXPECT_EQ(read_file(write(bytes), bytes.size()).value(), bytes);
}

TEST_F(ReadFileTest, RefusesAFileThatIsLargerThanTheLimit) {
  EXPECT_EQ(read_file(write("four"), 4).value(), "four");
  EXPECT_THAT(refused(write("fives"), 4), HasSubstr("expected at most 4 bytes"));
  EXPECT_EQ(read_file(write(""), 0).value(), "");
  EXPECT_THAT(refused(write("1"), 0), HasSubstr("expected at most 0 bytes"));
}

TEST_F(ReadFileTest, RefusesAnEndlessDeviceAtTheLimit) {
  EXPECT_THAT(refused("/dev/zero", 100'000), HasSubstr("expected at most 100000 bytes"));
  EXPECT_EQ(read_file("/dev/null", 0).value(), "");
}

TEST_F(ReadFileTest, ReadsAPipeUntilItsWriterClosesIt) {
  const std::filesystem::path path = folder_.path() / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const std::string bytes(150'000, 'p');  // more than the buffer of a pipe
  std::thread writer([&] { std::ofstream(path, std::ios::binary) << bytes; });
  const Result<std::string> read = read_file(path, bytes.size());
  writer.join();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read == bytes, true) << read->size();
}

TEST_F(ReadFileTest, FollowsASymbolicLink) {
  const std::filesystem::path link = folder_.path() / "link";
  std::filesystem::create_symlink(write("behind"), link);
  EXPECT_EQ(read_file(link, 100).value(), "behind");
  std::filesystem::remove(folder_.path() / "file");
  EXPECT_THAT(refused(link), HasSubstr("No such file or directory"));
}

TEST_F(ReadFileTest, NamesThePathAndTheReasonInAnError) {
  EXPECT_THAT(refused(folder_.path() / "missing"), HasSubstr("No such file or directory"));
  EXPECT_THAT(refused(folder_.path()), HasSubstr("this is a directory; expected a file"));
  EXPECT_THAT(refused(write("x") + "/below"), HasSubstr("Not a directory"));
  EXPECT_THAT(refused(std::string(300, 'n')), HasSubstr("File name too long"));
}

TEST_F(ReadFileTest, ReportsAFailedRead) {
  // Address 0 of this process is never mapped, so the first read fails.
  EXPECT_THAT(refused("/proc/self/mem"), HasSubstr("Input/output error"));
}

TEST_F(ReadFileTest, NeedsAFreeDescriptorAndClosesIt) {
  const std::string path = write("x");
  {
    const FewDescriptors none(0);
    EXPECT_THAT(refused(path), HasSubstr("Too many open files"));
  }
  const FewDescriptors one(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(read_file(path, 100).value(), "x");
    refused(path, 0);
    refused(folder_.path());
  }
}

TEST_F(ReadFileTest, ReadsOnlyTheFirstBytesOfALongFile) {
  const std::string bytes(100'000, 'a');
  EXPECT_EQ(read_at_most(write(bytes), 70'000).value(), bytes.substr(0, 70'000));
  EXPECT_EQ(read_at_most(write(bytes), 200'000).value(), bytes);
  EXPECT_EQ(read_at_most("/dev/zero", 3).value(), std::string(3, '\0'));
  const std::filesystem::path missing = folder_.path() / "missing";
  EXPECT_EQ(read_at_most(missing, 1).error().message,
            missing.string() + ": No such file or directory");
}

TEST_F(ReadFileTest, ReadsAnOpenFileFromItsCurrentOffset) {
  const Descriptor opened(::open(write("head and tail").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(read_at_most(opened, 4).value(), "head");
  EXPECT_EQ(read_at_most(opened, 100).value(), " and tail");
  EXPECT_EQ(read_at_most(Descriptor(), 1).error().message, "Bad file descriptor");
}

}  // namespace
}  // namespace millrace
