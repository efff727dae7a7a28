// Archives of unknown origin. A hostile archive writes nothing outside its folder, is refused with
// an error that gives the reason, and leaves no file behind.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "functions/files.h"
#include "tests/support/cases.h"
#include "tests/support/folder.h"
#include "tests/unit/functions/tar_maker.h"
#include "tests/unit/functions/tree.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct HostileArchive {
  const char* what;
  std::string tar;
  const char* message;
  /// Whether the archive is also refused when it is compressed.
  bool compressed_too = true;
};

std::string sparse_tar() {
  // What GNU tar writes for a file with one byte at the end of a gigabyte, in its pax format 1.0.
  return TarMaker()
      .pax("GNU.sparse.major", "1")
      .pax("GNU.sparse.minor", "0")
      .pax("GNU.sparse.realsize", "1073741824")
      .file("sparse", "1\n1073741823\n1\n" + std::string(512 - 15, '\0') + "x")
      .finish();
}

std::string many_special_headers() {
  TarMaker tar;
  for (int i = 0; i < 20'000; ++i) tar.pax("comment", "x", 'g');
  return tar.file("a", "x").finish();
}

std::string many_files(size_t count) {
  TarMaker tar;
  for (size_t i = 0; i < count; ++i) tar.file(fmt::format("f{}", i), "");
  return tar.finish();
}

std::vector<HostileArchive> hostile_archives() {
  const std::string good = TarMaker().file("first", std::string(3000, 'x')).finish();
  std::string flipped = good;
  flipped[10] ^= 1;
  std::string deep;
  for (size_t i = 0; i <= kMaxFileDepth; ++i) deep += "d/";
  return {
      {"a path to the parent folder", TarMaker().file("../evil", "x").finish(),
       "entry \"../evil\""},
      {"a path to the parent folder from a subfolder",
       TarMaker().file("a/../../evil", "x").finish(), "`..`"},
      {"a path with .. that stays inside the folder", TarMaker().file("a/../b", "x").finish(),
       "`..`"},
      {"a path that is only ..", TarMaker().folder("..").finish(), "`..`"},
      {"a path with .. after a dot", TarMaker().file("./../evil", "x").finish(), "`..`"},
      {"an absolute path", TarMaker().file("/tmp/evil", "x").finish(), "relative"},
      {"an absolute path of a folder", TarMaker().folder("/").finish(), "entry \"/\""},
      {"a path with two leading slashes", TarMaker().file("//evil", "x").finish(), "relative"},
      {"a path to the parent folder in a pax header",
       TarMaker().pax("path", "../evil").file("good", "x").finish(), "`..`"},
      {"an absolute path in a pax header",
       TarMaker().pax("path", "/evil").file("good", "x").finish(), "relative"},
      {"a path to the parent folder in a long name of GNU tar",
       TarMaker()
           .header({.name = "././@LongLink", .type = 'L', .size = 8})
           .content("../evil\0")
           .file("good", "x")
           .finish(),
       "`..`"},
      {"a symbolic link", TarMaker().link("l", '2', "/etc").finish(), "a link"},
      {"a symbolic link inside the folder", TarMaker().file("a", "x").link("l", '2', "a").finish(),
       "a link"},
      {"a path through a symbolic link",
       TarMaker().link("l", '2', "..").file("l/evil", "x").finish(), "a link"},
      {"a hard link", TarMaker().file("a", "x").link("h", '1', "a").finish(), "a link"},
      {"a hard link to a file outside", TarMaker().link("h", '1', "/etc/passwd").finish(),
       "a link"},
      {"a link in a pax header", TarMaker().pax("linkpath", "/etc").link("l", '2', "x").finish(),
       "a link"},
      {"a character device", TarMaker().header({.name = "null", .type = '3'}).finish(), "a device"},
      {"a block device", TarMaker().header({.name = "disk", .type = '4'}).finish(), "a device"},
      {"a fifo", TarMaker().header({.name = "fifo", .type = '6'}).finish(), "a fifo"},
      {"a sparse file", sparse_tar(), "sparse"},
      {"a sparse file whose end is a hole",
       TarMaker().pax("GNU.sparse.realsize", "2000").file("a", "x").finish(),
       "entry \"a\": it is a sparse file"},
      {"a sparse file that is larger than its size",
       TarMaker()
           .pax({{"GNU.sparse.major", "1"}, {"GNU.sparse.minor", "0"}})
           .file("a", "1\n99999\n1\n" + std::string(512 - 10, '\0') + "x")
           .finish(),
       "sparse"},
      {"two files with the same name", TarMaker().file("a", "x").file("a", "y").finish(),
       "another file or folder has this name"},
      {"a folder that becomes a file", TarMaker().folder("a/").file("a", "x").finish(),
       "another file or folder has this name"},
      {"a file that becomes a folder", TarMaker().file("a", "x").folder("a/").finish(),
       "of a file and of a folder at once"},
      {"a file below a file", TarMaker().file("a", "x").file("a/b", "x").finish(),
       "of a file and of a folder at once"},
      {"an implied folder that becomes a file", TarMaker().file("a/b", "x").file("a", "x").finish(),
       "another file or folder has this name"},
      {"a file with the name of the folder", TarMaker().file(".", "x").finish(), "`.`"},
      {"an empty name", TarMaker().file("", "x").finish(), "entry \"\""},
      {"a line break in a name", TarMaker().file("a\nb", "x").finish(), "control characters"},
      {"an escape in a name", TarMaker().file("\x1b[2J", "x").finish(), "control characters"},
      {"a backslash in a name", TarMaker().file("..\\evil", "x").finish(), "backslashes"},
      {"a name that is not UTF-8", TarMaker().file("caf\xe9", "x").finish(), "UTF-8"},
      {"a doubled slash", TarMaker().file("a//b", "x").finish(), "empty"},
      {"a long part of a name",
       TarMaker().pax("path", std::string(300, 'x')).file("x", "x").finish(), "255 bytes"},
      {"a long name", TarMaker().pax("path", std::string(2'000, 'x')).file("x", "x").finish(),
       "1024 bytes"},
      {"a path that is too deep", TarMaker().folder(deep).finish(), "parts at most"},
      {"a size above the limit",
       TarMaker().header({.name = "big", .size = uint64_t{1} << 40}).finish(), "64 MiB"},
      {"the largest size of an int64",
       TarMaker().header({.name = "big", .size = ~uint64_t{0} >> 1}).finish(), "entry"},
      {"a negative size", TarMaker().pax("size", "-5").file("a", "x").finish(), ""},
      {"a size in a pax header", TarMaker().pax("size", "99999999999").file("a", "x").finish(),
       "64 MiB"},
      {"truncated in a header", good.substr(0, 300), "corrupt"},
      {"truncated in a file", good.substr(0, 2'000), "corrupt"},
      {"truncated after a file", good.substr(0, good.size() - 1'024), "no end mark", false},
      {"a wrong checksum", flipped, "corrupt"},
      {"random bytes", "this is no archive at all, but it has some length" + std::string(600, 'z'),
       "corrupt"},
      {"a zip", std::string("PK\x03\x04") + std::string(600, '\0'), "corrupt"},
  };
}

/// Archives that are small when compressed and exceed a limit when uncompressed.
std::vector<HostileArchive> bombs() {
  return {
      {"one large file", TarMaker().file("zeros", std::string((64 << 20) + 1, '\0')).finish(),
       "64 MiB"},
      {"two files that are too large together",
       TarMaker()
           .file("a", std::string(40 << 20, '\0'))
           .file("b", std::string(40 << 20, '\0'))
           .finish(),
       "entry \"b\": the files of the task have more than 64 MiB"},
      {"too many entries", many_files(kMaxFilesEntries), "10000 files and folders"},
      {"a very large number of special headers", many_special_headers(), "no name"},
      {"a special header of 80 MiB",
       TarMaker().pax("comment", std::string(80 << 20, 'x')).file("a", "x").finish(), "corrupt"},
  };
}

class ArchiveTest : public testing::Test {
 protected:
  ArchiveTest() { before_ = tree_of(folder_.path()); }

  fs::path task() const { return folder_.path() / "task"; }

  /// Writes the files of the archive into the folder of the task. Returns the error message, or ""
  /// if the archive is accepted. Expects that a refused archive leaves no file behind.
  std::string refused(FileType type, std::string bytes) {
    fs::remove_all(task());
    const Status done = lay_out_files({{"site", type, std::move(bytes)}}, task());
    if (done) return "";
    EXPECT_EQ(done.error().code, kFunctionFiles);
    EXPECT_THAT(done.error().message, testing::StartsWith("file \"site\": "));
    EXPECT_TRUE(is_printable_ascii(done.error().message)) << done.error().message;
    EXPECT_EQ(tree_of(folder_.path()), before_);
    return done.error().message;
  }

  Folder folder_;
  std::map<std::string, std::string> before_;
};

TEST_F(ArchiveTest, RefusesHostileArchives) {
  const std::vector<HostileArchive> archives = hostile_archives();
  ASSERT_GE(archives.size(), 30u);
  for (const HostileArchive& archive : archives) {
    SCOPED_TRACE(archive.what);
    const std::string plain = refused(FileType::kTar, archive.tar);
    EXPECT_NE(plain, "") << archive.what;
    EXPECT_THAT(plain, HasSubstr(archive.message)) << archive.what;
    if (!archive.compressed_too) continue;
    const std::string compressed = refused(FileType::kTarGz, gzip(archive.tar));
    EXPECT_NE(compressed, "") << archive.what;
    EXPECT_THAT(compressed, HasSubstr(archive.message)) << archive.what;
  }
}

TEST_F(ArchiveTest, RefusesDecompressionBombs) {
  for (const HostileArchive& bomb : bombs()) {
    SCOPED_TRACE(bomb.what);
    const std::string compressed = gzip(bomb.tar);
    EXPECT_LT(compressed.size(), kMaxVariableBytes);
    EXPECT_THAT(refused(FileType::kTarGz, compressed), HasSubstr(bomb.message));
  }
}

TEST_F(ArchiveTest, RefusesAnArchiveOfAnotherTypeThanStated) {
  const std::string tar = TarMaker().file("a", "x").finish();
  EXPECT_THAT(refused(FileType::kTarGz, tar), HasSubstr("not compressed with gzip"));
  EXPECT_THAT(refused(FileType::kTar, gzip(tar)), HasSubstr("corrupt"));
  EXPECT_THAT(refused(FileType::kTarGz, gzip(gzip(tar))),
              HasSubstr("not compressed with gzip exactly once"));
  EXPECT_THAT(refused(FileType::kTarGz, gzip("")), HasSubstr("corrupt"));
}

TEST_F(ArchiveTest, RefusesATruncatedCompressedArchive) {
  std::string noise(20'000, '\0');
  uint32_t state = 7;
  for (char& byte : noise) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  const std::string whole = gzip(TarMaker().file("noise", noise).finish());
  ASSERT_EQ(refused(FileType::kTarGz, whole), "");
  for (size_t size = 1; size < whole.size(); size += 97) {
    EXPECT_NE(refused(FileType::kTarGz, whole.substr(0, size)), "") << size;
  }
}

TEST_F(ArchiveTest, WritesNothingOutsideItsFolderIfItsBytesAreChangedAtRandom) {
  const std::string whole = TarMaker()
                                .folder("d/")
                                .pax("path", "d/long name")
                                .file("x", std::string(700, 'x'))
                                .link("l", '2', "../..")
                                .finish();
  uint32_t state = 42;
  const auto random = [&] { return (state = state * 1664525 + 1013904223) >> 8; };
  for (size_t i = 0; i < cases(500); ++i) {
    std::string changed = whole;
    for (uint32_t edits = 1 + random() % 8; edits > 0; --edits) {
      changed[random() % changed.size()] = static_cast<char>(random());
    }
    const Status done = lay_out_files({{"site", FileType::kTar, changed}}, task());
    const std::map<std::string, std::string> after = tree_of(folder_.path());
    for (const auto& [path, what] : after) {
      EXPECT_TRUE(path == "task" || path.starts_with("task/")) << path;
      EXPECT_FALSE(what.starts_with("->")) << path;
    }
    EXPECT_TRUE(done || after.empty());
    fs::remove_all(task());
  }
}

TEST_F(ArchiveTest, AcceptsArchivesUpToTheLimits) {
  EXPECT_EQ(refused(FileType::kTarGz, gzip(many_files(kMaxFilesEntries - 1))), "");
  const std::string large = TarMaker().file("zeros", std::string(64 << 20, '\0')).finish();
  EXPECT_EQ(refused(FileType::kTarGz, gzip(large)), "");
}

TEST_F(ArchiveTest, AcceptsFileNamesOfAllTarFormats) {
  const std::string long_name = std::string(60, 'a') + "/" + std::string(100, 'b');
  const std::string tar =
      TarMaker()
          .file("plain ü", "1")
          .pax("path", "pax ü/" + long_name)
          .file("x", "2")
          .header({.name = "././@LongLink", .type = 'L', .size = long_name.size() + 1})
          .content(long_name + '\0')
          .file("x", "3")
          .finish();
  ASSERT_EQ(refused(FileType::kTar, tar), "");
  const std::map<std::string, std::string> tree = tree_of(task() / "site");
  EXPECT_EQ(tree.at("plain ü"), "1");
  EXPECT_EQ(tree.at("pax ü/" + long_name), "2");
  EXPECT_EQ(tree.at(long_name), "3");
}

}  // namespace
}  // namespace millrace
