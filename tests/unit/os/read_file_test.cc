#include "os/read_file.h"

#include <fstream>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/descriptor.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

class ReadFileTest : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& bytes) const {
    const std::filesystem::path path = folder_.path() / "file";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  /// The message of an error of that code; else the bytes.
  static std::string outcome(const Result<std::string>& read) {
    if (read) return *read;
    EXPECT_EQ(read.error().code, "file.unreadable");
    return read.error().message;
  }

  const Folder folder_;
};

TEST_F(ReadFileTest, AFileIsReadWholeOrNotAtAll) {
  const std::string bytes = std::string(100'000, 'a') + '\0' + 'b';
  EXPECT_EQ(outcome(read_file(file(bytes), bytes.size())), bytes);
  EXPECT_EQ(outcome(read_file(file(bytes), bytes.size() - 1)),
            file(bytes).string() + ": expected at most 100001 bytes");
  EXPECT_EQ(outcome(read_file(file(""), 0)), "");
  EXPECT_THAT(outcome(read_file("/dev/zero", 10)), testing::EndsWith("expected at most 10 bytes"));
}

TEST_F(ReadFileTest, ThePathAndTheReasonAreSaid) {
  const std::filesystem::path none = folder_.path() / "none";
  EXPECT_EQ(outcome(read_file(none, 1)), none.string() + ": No such file or directory");
  EXPECT_EQ(outcome(read_at_most(none, 1)), none.string() + ": No such file or directory");
  EXPECT_EQ(outcome(read_file(folder_.path(), 1)),
            folder_.path().string() + ": this is a directory; expected a file");
}

TEST_F(ReadFileTest, AtMostSoManyBytesAreRead) {
  const std::string bytes(100'000, 'a');
  EXPECT_EQ(outcome(read_at_most(file(bytes), 70'000)), bytes.substr(0, 70'000));
  EXPECT_EQ(outcome(read_at_most(file(bytes), 200'000)), bytes);
  EXPECT_EQ(outcome(read_at_most("/dev/zero", 3)), std::string(3, '\0'));
}

TEST_F(ReadFileTest, AnOpenFileIsReadFromWhereItIs) {
  const Descriptor opened(::open(file("head and tail").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(outcome(read_at_most(opened, 4)), "head");
  EXPECT_EQ(outcome(read_at_most(opened, 100)), " and tail");
  EXPECT_EQ(outcome(read_at_most(Descriptor(), 1)), "Bad file descriptor");
}

}  // namespace
}  // namespace millrace
