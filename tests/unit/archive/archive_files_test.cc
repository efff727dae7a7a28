// The files of an archive: a line for each instance, and only lines that count.
#include "orchestrator/archive/archive_files.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/support/file_bytes.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

constexpr NamespaceNumber kShop{3};

InstanceId numbered(uint8_t number) {
  InstanceId id;
  id.bytes.back() = number;
  return id;
}

class ArchiveFilesTest : public testing::Test {
 protected:
  fs::path archives() const { return folder_.path() / "archive"; }
  fs::path file(uint32_t number) const { return archive_file(archives(), kShop, "shop", number); }
  std::string bytes(uint32_t number) const { return file_bytes(file(number)); }

  ArchivePage page(std::vector<uint8_t> numbers, ArchivePosition at, bool is_new_file = false) {
    ArchivePage made{.number = 7,
                     .ns = kShop,
                     .name = "shop",
                     .at = at,
                     .is_new_file = is_new_file,
                     .entries = {}};
    for (const uint8_t number : numbers) made.entries.push_back({numbered(number), 1});
    return made;
  }
  ArchivedPage write(const ArchivePage& page) { return write_page(archives(), page, line_); }
  static std::string code_of(const ArchivedPage& page) {
    return page.lengths ? "" : page.lengths.error().code;
  }

  ArchiveLine line_ = [](std::string_view ns, const ArchivePageEntry& entry) {
    return std::optional(std::string(ns) + std::to_string(entry.id.bytes.back()));
  };
  Folder folder_;
};

TEST_F(ArchiveFilesTest, HaveALineForEachInstance) {
  const ArchivedPage first = write(page({1, 2}, {}, true));
  EXPECT_EQ(first.number, 7U);
  ASSERT_TRUE(first.lengths) << first.lengths.error().message;
  EXPECT_THAT(*first.lengths, ElementsAre(Optional(6U), Optional(12U)));
  const ArchivedPage second = write(page({3}, {.length = 12}));
  ASSERT_TRUE(second.lengths) << second.lengths.error().message;
  EXPECT_THAT(*second.lengths, ElementsAre(Optional(18U)));
  EXPECT_EQ(bytes(1), "shop1\nshop2\nshop3\n");
  EXPECT_EQ(file(1), archives() / "shop.3" / "000001.jsonl");
}

TEST_F(ArchiveFilesTest, LoseTheLinesThatWereNotCommitted) {
  ASSERT_TRUE(write(page({1, 2, 3}, {}, true)).lengths);
  ASSERT_TRUE(write(page({4}, {.length = 6})).lengths);
  EXPECT_EQ(bytes(1), "shop1\nshop4\n");
  ASSERT_TRUE(write(page({5}, {})).lengths) << "a page at the begin of a file that was used before";
  EXPECT_EQ(bytes(1), "shop5\n");
}

TEST_F(ArchiveFilesTest, HaveNoLineForAnInstanceThatWasStartedAgainOrCannotBeRead) {
  line_ = [](std::string_view,
             const ArchivePageEntry& entry) -> Result<std::optional<std::string>> {
    if (entry.id == numbered(1)) return std::nullopt;
    if (entry.id == numbered(2)) return fail("store.damaged_row", "its head is damaged");
    return "three";
  };
  const ArchivedPage written = write(page({1, 2, 3}, {}, true));
  ASSERT_TRUE(written.lengths) << written.lengths.error().message;
  EXPECT_THAT(*written.lengths, ElementsAre(std::nullopt, std::nullopt, Optional(6U)));
  EXPECT_EQ(bytes(1), "three\n");
}

TEST_F(ArchiveFilesTest, AreLeftAsTheyAreIfAnotherProgramChangedThem) {
  EXPECT_EQ(code_of(write(page({1}, {.length = 6}))), kArchiveMoved) << "the file is missing";
  ASSERT_TRUE(write(page({1}, {}, true)).lengths);
  EXPECT_EQ(code_of(write(page({2}, {.length = 7}))), kArchiveMoved) << "the file is shorter";
  EXPECT_EQ(code_of(write(page({2}, {}, true))), kArchiveMoved) << "the new file exists";
  EXPECT_EQ(bytes(1), "shop1\n");
  ASSERT_TRUE(write(page({2}, {.file = 2}, true)).lengths);
  EXPECT_EQ(bytes(2), "shop2\n");
}

TEST_F(ArchiveFilesTest, GiveAnErrorWithThePathIfTheyCannotBeWritten) {
  std::ofstream(archives()) << "no folder";
  const ArchivedPage written = write(page({1}, {}, true));
  ASSERT_FALSE(written.lengths);
  EXPECT_EQ(written.lengths.error().code, "archive.write");
  EXPECT_THAT(written.lengths.error().message, HasSubstr(archives().string()));
}

TEST_F(ArchiveFilesTest, LeaveSpaceOnTheDiskForTheStore) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  const auto check = [&](uint64_t free, uint64_t whole, uint64_t line) {
    return check_archive_space(file(1), free, whole, line);
  };
  EXPECT_TRUE(check(129 * kMiB, 1'000 * kMiB, kMiB));
  const Status full = check(129 * kMiB, 1'000 * kMiB, kMiB + 1);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, "archive.write");
  EXPECT_THAT(full.error().message, HasSubstr(file(1).string()));
  EXPECT_FALSE(check(0, 1'000 * kMiB, 1));
  EXPECT_TRUE(check(26 * kMiB, 100 * kMiB, kMiB)) << "a quarter of a small disk stays free";
  EXPECT_FALSE(check(25 * kMiB, 100 * kMiB, kMiB));
}

TEST_F(ArchiveFilesTest, HaveNoLineOfAPageThatCouldNotBeWritten) {
  ASSERT_TRUE(write(page({1}, {}, true)).lengths);
  // A write beyond the limit of the process fails like a write on a full disk.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{.rlim_cur = 16, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const ArchivedPage failed = write(page({2, 3}, {.length = 6}));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, ignored);
  EXPECT_EQ(code_of(failed), "archive.write");
  EXPECT_EQ(bytes(1), "shop1\n");
  ASSERT_TRUE(write(page({2, 3}, {.length = 6})).lengths);
  EXPECT_EQ(bytes(1), "shop1\nshop2\nshop3\n");
}

TEST_F(ArchiveFilesTest, AreReadableByTheirOwnerOnly) {
  ASSERT_TRUE(write(page({1}, {}, true)).lengths);
  EXPECT_EQ(fs::status(file(1)).permissions(), fs::perms(0600));
  EXPECT_EQ(fs::status(file(1).parent_path()).permissions(), fs::perms(0700));
}

TEST_F(ArchiveFilesTest, AreCutToTheCommittedPositionAtTheStart) {
  EXPECT_TRUE(cut_archive(archives(), kShop, "shop", {})) << "there is no file";
  ASSERT_TRUE(write(page({1, 2, 3}, {}, true)).lengths);
  EXPECT_TRUE(cut_archive(archives(), kShop, "shop", {.length = 12}));
  EXPECT_EQ(bytes(1), "shop1\nshop2\n");
  EXPECT_TRUE(cut_archive(archives(), kShop, "shop", {.length = 100})) << "a shorter file stays";
  EXPECT_EQ(bytes(1), "shop1\nshop2\n");
}

TEST_F(ArchiveFilesTest, AreNotReachedByALink) {
  ASSERT_TRUE(write(page({1, 2}, {}, true)).lengths);
  const fs::path other = folder_.path() / "other";
  const fs::path kept = folder_.path() / "kept";
  for (const fs::path& link : {file(1), file(1).parent_path()}) {
    fs::rename(link, kept);
    fs::copy(kept, other);
    fs::create_symlink(other, link);
    const ArchivedPage written = write(page({3}, {.length = 6}));
    EXPECT_EQ(code_of(written), "store.link") << link;
    EXPECT_THAT(written.lengths.error().message, HasSubstr(link.string()));
    const Status cut = cut_archive(archives(), kShop, "shop", {.length = 6});
    EXPECT_EQ(cut ? "" : cut.error().code, "store.link") << link;
    EXPECT_EQ(bytes(1), "shop1\nshop2\n") << "what the link names does not change";
    fs::remove(link);
    fs::remove_all(other);
    fs::rename(kept, link);
  }
  fs::create_symlink(other, file(2));
  EXPECT_EQ(code_of(write(page({3}, {.file = 2}, true))), "store.link") << "a file to be created";
  EXPECT_FALSE(fs::exists(other));
}

TEST_F(ArchiveFilesTest, WaitForNoReaderOfAPipe) {
  ASSERT_TRUE(write(page({1, 2}, {}, true)).lengths);
  fs::remove(file(1));
  ASSERT_EQ(::mkfifo(file(1).c_str(), 0600), 0);
  EXPECT_EQ(code_of(write(page({3}, {.length = 6}))), "store.link");
  const Status cut = cut_archive(archives(), kShop, "shop", {.length = 6});
  EXPECT_EQ(cut ? "" : cut.error().code, "store.link");
}

TEST_F(ArchiveFilesTest, MayBeInAFolderThatALinkNames) {
  fs::create_directory(folder_.path() / "disk");
  fs::create_directory_symlink(folder_.path() / "disk", archives());
  EXPECT_EQ(code_of(write(page({1}, {}, true))), "");
  EXPECT_EQ(bytes(1), "shop1\n");
}

TEST_F(ArchiveFilesTest, HaveASizeInBytesForAllNamespacesTogether) {
  EXPECT_THAT(archive_bytes(archives()), Optional(0U)) << "there is no archive";
  write(page({1, 2}, {}, true));
  write(page({3}, {.file = 2}, true));
  ArchivePage other = page({4}, {}, true);
  other.name = "other";
  write(other);
  const uint64_t own = bytes(1).size() + bytes(2).size();
  EXPECT_THAT(archive_bytes(archives()), Optional(own + std::string("other4\n").size()));
  fs::remove(file(1));
  EXPECT_THAT(archive_bytes(archives()),
              Optional(bytes(2).size() + std::string("other4\n").size()));
}

TEST_F(ArchiveFilesTest, HaveNoSizeIfTheyCannotBeRead) {
  std::ofstream(archives()) << "no folder";
  EXPECT_EQ(archive_bytes(archives()), std::nullopt);
}

}  // namespace
}  // namespace millrace
