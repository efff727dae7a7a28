#include "orchestrator/store/disk/page_file.h"

#include <array>
#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/few_descriptors.h"
#include "tests/support/folder.h"
#include "tests/unit/store/disk/page_image.h"

namespace millrace {
namespace {

using testing::HasSubstr;

class PageFileTest : public testing::Test {
 protected:
  PageFileTest() { image_.make_metas(leaf_root(2, 0)); }

  std::filesystem::path path() const { return folder_.path() / "data.mdb"; }
  Result<std::unique_ptr<PageFile>> open() const {
    image_.write_to(path());
    return PageFile::open(path());
  }
  /// The damage of the meta pages, as a line; empty if there is none.
  std::string damage() const {
    const auto opened = open();
    EXPECT_TRUE(opened) << opened.error().message;
    return opened && (*opened)->damage ? to_string(*(*opened)->damage) : "";
  }

  Folder folder_{fast_folder()};
  PageImage image_{3};
};

TEST_F(PageFileTest, UsesTheNewerMetaPage) {
  const auto opened = open();
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->size, 3 * PageImage::kBytes);
  EXPECT_EQ((*opened)->page_bytes, PageImage::kBytes);
  EXPECT_FALSE((*opened)->damage);
  EXPECT_EQ((*opened)->meta.transaction, 4U);
  image_.put(1, 144, uint64_t{5});
  EXPECT_EQ((*open())->meta.transaction, 5U);
  EXPECT_EQ((*open())->meta.number, 1U);
}

TEST_F(PageFileTest, AcceptsTwoMetaPagesOfTransaction0) {
  image_.put(0, 144, uint64_t{0});
  image_.put(1, 144, uint64_t{0});
  EXPECT_EQ(damage(), "");
}

TEST_F(PageFileTest, NamesTheDamagedMetaPage) {
  image_.put(1, 16, uint32_t{7});
  EXPECT_EQ(damage(), "page 1 (tree main): the magic is 00000007, expected beefc0de");
  image_.put(0, 10, uint16_t{2});
  EXPECT_THAT(damage(), HasSubstr("page 0 (tree main): its header has number 0 and flags 0x2"));
}

TEST_F(PageFileTest, ReportsMetaPagesOfTransactionsThatAreNotConsecutive) {
  image_.put(0, 144, uint64_t{6});
  EXPECT_THAT(damage(), HasSubstr("the meta pages are of transactions 6 and 3"));
  image_.put(0, 144, uint64_t{2});
  EXPECT_EQ(damage(), "") << "the older meta page may be first";
  image_.put(1, 40, uint32_t{1024});
  EXPECT_THAT(damage(), HasSubstr("with pages of 512 and 1024 bytes"));
}

TEST_F(PageFileTest, ReportsATruncatedFileAsDamaged) {
  const std::string whole = image_.bytes();
  for (const size_t size : {size_t{0}, size_t{100}, PageImage::kBytes - 1, PageImage::kBytes}) {
    image_.bytes() = whole.substr(0, size);
    EXPECT_THAT(damage(), HasSubstr("(tree main): ")) << size;
  }
}

TEST_F(PageFileTest, ReportsALaterLmdbFormatAsAnErrorAndNotAsDamage) {
  image_.put(0, 20, uint32_t{2});
  EXPECT_THAT(damage(), HasSubstr("the LMDB format is 2, expected 1"))
      << "a wrong format in only one meta page is damage";
  // The second meta page is also expected at 4096 bytes: the page size of a later format is
  // unknown.
  image_.bytes().resize(size_t{3} * 4096);
  const std::string second = image_.bytes().substr(PageImage::kBytes, PageImage::kBytes);
  image_.bytes().replace(4096, PageImage::kBytes, second);
  image_.bytes().replace(4096 + 20, 4, number_bytes(uint32_t{2}));
  const auto later = open();
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().code, "store.version");
  EXPECT_THAT(later.error().message, HasSubstr("has LMDB format 2, this release reads 1; "));
  image_.bytes().replace(4096 + 20, 4, number_bytes(uint32_t{3}));
  EXPECT_TRUE(open()) << "the meta pages differ: the file is damaged";
}

TEST_F(PageFileTest, ReadsUpToTheEndOfTheFile) {
  const auto file = open().value();
  std::array<char, 100> bytes{};
  size_t got = 0;
  EXPECT_TRUE(file->read(2 * PageImage::kBytes, bytes.data(), bytes.size(), got));
  EXPECT_EQ(got, 100U);
  EXPECT_TRUE(file->read(3 * PageImage::kBytes - 10, bytes.data(), bytes.size(), got));
  EXPECT_EQ(got, 10U);
  EXPECT_TRUE(file->read(4 * PageImage::kBytes, bytes.data(), bytes.size(), got));
  EXPECT_EQ(got, 0U);
}

TEST_F(PageFileTest, ReportsAFailedRead) {
  PageFile file;  // without a descriptor
  char byte = 0;
  size_t got = 0;
  EXPECT_FALSE(file.read(0, &byte, 1, got));
  EXPECT_EQ(errno, EBADF);
}

TEST_F(PageFileTest, NamesAFileThatCannotBeOpenedOrRead) {
  const auto expect_error = [](const std::filesystem::path& path, const char* reason) {
    const auto opened = PageFile::open(path);
    ASSERT_FALSE(opened) << path;
    EXPECT_EQ(opened.error().code, "store.io");
    EXPECT_THAT(opened.error().message, HasSubstr(path.string() + ": " + reason));
  };
  expect_error(folder_.path() / "missing", "No such file");
  expect_error(folder_.path(), "Is a directory");  // a folder opens and cannot be read
  image_.write_to(path());
  const FewDescriptors none(0);
  expect_error(path(), "Too many open files");
}

}  // namespace
}  // namespace millrace
