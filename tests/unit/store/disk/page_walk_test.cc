// PageWalk: each rule of the page check, on pages built by hand. page_check_test.cc has tests with
// damaged files of LMDB.
#include "orchestrator/store/disk/page_walk.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/folder.h"
#include "tests/unit/store/disk/page_image.h"

namespace millrace {
namespace {

using namespace lmdb;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kMainPage = 2;
constexpr uint64_t kBranchPage = 3;
constexpr uint64_t kLeft = 4;
constexpr uint64_t kRight = 5;
constexpr uint64_t kRun = 6;  ///< the first of the two pages of an overflow run
constexpr uint64_t kFreeLeaf = 8;
constexpr uint64_t kFreed = 9;
constexpr uint64_t kPages = 11;

/// A file with the tree `live` (a branch page, two leaf pages, an overflow run), the empty tree
/// `meta`, and a free tree with the pages 9 and 10.
class PageWalkTest : public testing::Test {
 protected:
  PageWalkTest() {
    image_.make_metas(leaf_root(kMainPage, 2), leaf_root(kFreeLeaf, 1));
    make_main();
    image_.make_branch(kBranchPage, {{"", kLeft}, {"m", kRight}});
    image_.make_leaf(kLeft, {{"a", "1"}, {"b", "22"}});
    image_.make_leaf(kRight, {{"m", "3"}, run_node(600)});
    image_.make_overflow(kRun, 2);
    make_free(4, {kFreed + 1, kFreed});
  }

  static LeafNode run_node(uint32_t size) { return {"n", number_bytes(kRun), kInOverflow, size}; }
  void make_main() {
    image_.make_leaf(kMainPage,
                     {{"live", root_bytes(live_), kIsRoot}, {"meta", root_bytes(Root{}), kIsRoot}});
  }
  void make_free(uint64_t by, const std::vector<uint64_t>& pages) {
    std::string list = number_bytes(uint64_t{pages.size()});
    for (const uint64_t page : pages) list += number_bytes(page);
    image_.make_leaf(kFreeLeaf, {{number_bytes(by), list}});
  }

  PageReport run(const PageCheckOptions& options = {}) {
    image_.write_to(folder_.path() / "data.mdb");
    const auto file = PageFile::open(folder_.path() / "data.mdb");
    EXPECT_TRUE(file) << file.error().message;
    return PageWalk(**file, options).run();
  }
  std::vector<std::string> found(const PageCheckOptions& options = {}) {
    std::vector<std::string> lines;
    for (const PageDamage& damage : run(options).damages) lines.push_back(to_string(damage));
    return lines;
  }

  Folder folder_{fast_folder()};
  PageImage image_{kPages};
  Root live_{.depth = 2,
             .branch_pages = 1,
             .leaf_pages = 2,
             .overflow_pages = 2,
             .entries = 4,
             .page = kBranchPage};
};

TEST_F(PageWalkTest, FindsNothingInAnUndamagedFileAndReadsEachPageOnce) {
  EXPECT_THAT(found(), IsEmpty());
  const PageReport report = run();
  EXPECT_EQ(report.pages, 6U) << "main, branch, two leaves, the head of the run, free";
  EXPECT_FALSE(report.is_stopped);
}

TEST_F(PageWalkTest, ReportsDamagedMetaPagesAndReadsNoOtherPage) {
  image_.put(0, 16, uint32_t{0});
  EXPECT_THAT(found(), ElementsAre(HasSubstr("page 0 (tree main): the magic is")));
  EXPECT_EQ(run().pages, 0U);
}

TEST_F(PageWalkTest, ChecksTheFlagsDepthAndCountsOfARoot) {
  const struct {
    std::function<void(Root&)> damage;
    const char* finding;
  } rows[] = {
      {[](Root& root) { root.flags = 4; }, "the root has flags 0x4, expected 0x0"},
      {[](Root& root) { root.depth = 33; }, "the root has depth 33 and page 3"},
      {[](Root& root) { root.depth = 0; }, "the root has depth 0 and page 3"},
      {[](Root& root) { root.page = kNoPage; },
       "the root has depth 2 and page 18446744073709551615"},
      {[](Root& root) { root.page = 1; }, "it leads to page 1, expected pages from 2 to 10"},
      {[](Root& root) { root.page = kPages; }, "it leads to page 11, expected pages from 2 to 10"},
      {[](Root& root) { root.entries = 5; },
       "the tree has 1 branch pages, 2 leaf pages, 2 overflow pages and 4 rows, expected 1, 2, 2 "
       "and 5 as its root says"},
      {[](Root& root) { root.branch_pages = 2; }, "expected 2, 2, 2 and 4"},
      {[](Root& root) { root.leaf_pages = 1; }, "expected 1, 1, 2 and 4"},
      {[](Root& root) { root.overflow_pages = 0; }, "expected 1, 2, 0 and 4"},
  };
  const Root undamaged = live_;
  for (const auto& row : rows) {
    live_ = undamaged;
    row.damage(live_);
    make_main();
    EXPECT_THAT(found(), ElementsAre(testing::AllOf(HasSubstr("page 2 (tree live): "),
                                                    HasSubstr(row.finding))));
  }
}

TEST_F(PageWalkTest, NamesATreeWithAnUnprintableName) {
  image_.make_leaf(kMainPage, {{"a\x01", root_bytes(Root{.flags = 4}), kIsRoot},
                               {"live", root_bytes(live_), kIsRoot}});
  EXPECT_THAT(found(), ElementsAre(HasSubstr("(tree a\\x01): the root has flags")));
}

TEST_F(PageWalkTest, AcceptsOnlyRootsOfTreesAsRowsOfTheMainTree) {
  image_.make_leaf(kMainPage, {{"live", root_bytes(live_), kIsRoot}, {"meta", "text"}});
  EXPECT_THAT(found(), ElementsAre(HasSubstr("\"meta\" has flags 0x0 and 4 bytes, expected the "
                                             "root of a tree: 0x2 and 48 bytes")));
}

TEST_F(PageWalkTest, ChecksTheHeaderOfAPage) {
  const struct {
    std::function<void(PageImage&)> damage;
    const char* finding;
  } rows[] = {
      {[](PageImage& image) { image.put(kLeft, 0, uint64_t{7}); },
       "page 4 (tree live): its header has number 7, expected 4"},
      {[](PageImage& image) { image.put(kLeft, 10, kBranch); },
       "its flags are 0x1, expected 0x2: a leaf page"},
      {[](PageImage& image) { image.put(kBranchPage, 10, kLeaf); },
       "page 3 (tree live): its flags are 0x2, expected 0x1: a branch page"},
      {[](PageImage& image) { image.put(kLeft, 12, uint16_t{16}); }, "its offsets end at 16"},
      {[](PageImage& image) { image.put(kLeft, 12, uint16_t{19}); }, "its offsets end at 19"},
      {[](PageImage& image) { image.put(kLeft, 12, uint16_t{510}); }, "its offsets end at 510"},
      {[](PageImage& image) { image.put(kLeft, 14, uint16_t{514}); }, "its nodes begin at 514"},
      {[](PageImage& image) {
         image.make_branch(kBranchPage, {{"", kLeft}});
       },
       "its offsets end at 18 and its nodes begin at 504, expected even numbers from 20"},
  };
  const std::string undamaged = image_.bytes();
  for (const auto& row : rows) {
    image_.bytes() = undamaged;
    row.damage(image_);
    EXPECT_THAT(found(), ElementsAre(HasSubstr(row.finding)));
  }
}

TEST_F(PageWalkTest, ChecksTheNodesOfAPage) {
  image_.put(kLeft, 16, uint16_t{20});
  EXPECT_THAT(found(), ElementsAre(HasSubstr("offset 0 is 20, expected the beginning of a node")));
  image_.put(kLeft, 16, uint16_t{490});  // the offset of the other node
  EXPECT_THAT(found(), ElementsAre(HasSubstr("offset 1 is 490, expected the beginning of a node "
                                             "that has no other offset")));
  image_.make_leaf(kLeft, {{"a", "1"}, {"b", "22"}});
  image_.put(kLeft, 502, uint32_t{100});  // the size of the first value
  EXPECT_THAT(found(), ElementsAre(HasSubstr("the node at byte 502 does not end within the page")));
  image_.make_leaf(kLeft, {{"a", "1"}, {"b", "22"}});
  image_.put(kLeft, 12, uint16_t{18});
  EXPECT_THAT(found(),
              ElementsAre(HasSubstr("it has 1 offsets, expected one for each of 2 nodes")));
}

TEST_F(PageWalkTest, ChecksTheOrderAndTheRangeOfKeys) {
  const struct {
    std::function<void(PageImage&)> damage;
    const char* finding;
  } rows[] = {
      {[](PageImage& image) {
         image.make_leaf(kLeft, {{"b", "1"}, {"a", "2"}});
       },
       "page 4 (tree live): key 1 is not above the key before it"},
      {[](PageImage& image) {
         image.make_leaf(kLeft, {{"a", "1"}, {"a", "2"}});
       },
       "key 1 is not above the key before it"},
      {[](PageImage& image) {
         image.make_leaf(kLeft, {{"", "1"}, {"a", "2"}});
       },
       "key 0 has 0 bytes, expected 1 to 511"},
      {[](PageImage& image) {
         image.make_leaf(kLeft, {{"a", "1"}, {"m", "2"}});
       },
       "page 4 (tree live): key 1 is outside of the range that the branch page above has"},
      {[](PageImage& image) {
         image.make_leaf(kRight, {{"l", "1"}, run_node(600)});
       },
       "page 5 (tree live): key 0 is outside of the range"},
      {[](PageImage& image) {
         image.make_branch(kBranchPage, {{"", kLeft}, {"m", kRight}, {"k", kFreed}});
       },
       "page 3 (tree live): key 2 is not above the key before it"},
  };
  const std::string undamaged = image_.bytes();
  for (const auto& row : rows) {
    image_.bytes() = undamaged;
    row.damage(image_);
    EXPECT_THAT(found(), ElementsAre(HasSubstr(row.finding)));
  }
}

TEST_F(PageWalkTest, ReportsAPageThatIsReachedTwice) {
  image_.make_branch(kBranchPage, {{"", kLeft}, {"m", kLeft}});
  EXPECT_THAT(found(), ElementsAre(HasSubstr(
                           "page 3 (tree live): it leads to page 4, to which another page leads, "
                           "too")));
  image_.make_branch(kBranchPage, {{"", kLeft}, {"m", kBranchPage}});
  EXPECT_THAT(found(), ElementsAre(HasSubstr("it leads to page 3, to which another page leads")));
}

TEST_F(PageWalkTest, ChecksTheHeaderOfAnOverflowRun) {
  const struct {
    std::function<void(PageImage&)> damage;
    const char* finding;
  } rows[] = {
      {[](PageImage& image) { image.put(kRun, 12, uint32_t{1}); },
       "page 6 (tree live): its header has number 6, flags 0x4 and 1 pages, expected number 6, 0x4 "
       "(overflow) and at least 2 pages for a value of 600 bytes"},
      {[](PageImage& image) { image.put(kRun, 10, kLeaf); }, "flags 0x2 and 2 pages"},
      {[](PageImage& image) { image.put(kRun, 0, uint64_t{9}); }, "its header has number 9"},
      {[](PageImage& image) { image.put(kRun, 12, uint32_t{6}); },
       "page 6 (tree live): it leads to page 7 and the 4 after it, expected pages from 2 to 10"},
      {[](PageImage& image) { image.put(kRun, 12, uint32_t{3}); },
       "it leads to page 8, to which another page leads"},
      {[](PageImage& image) {
         image.make_leaf(kRight, {{"m", "3", 4}, run_node(600)});
       },
       "page 5 (tree live): a node has flags 0x4, expected 0 or 0x1"},
  };
  const std::string undamaged = image_.bytes();
  for (const auto& row : rows) {
    image_.bytes() = undamaged;
    row.damage(image_);
    EXPECT_THAT(found(), testing::Contains(HasSubstr(row.finding))) << row.finding;
  }
}

TEST_F(PageWalkTest, ChecksTheListOfFreePages) {
  const struct {
    uint64_t by;
    std::vector<uint64_t> pages;
    const char* finding;
  } rows[] = {
      {0, {kFreed}, "page 8 (tree free): transaction 0 has freed 1 pages in a list of 16 bytes"},
      {5, {kFreed}, "expected a transaction from 1 to 4"},
      {4, {1}, "transaction 4 has freed page 1, expected one from 2 to 10"},
      {4, {kPages}, "transaction 4 has freed page 11"},
      {4, {kFreed, kFreed}, "transaction 4 has freed page 9, expected one from 2 to 8"},
      {4, {kFreed, kFreed + 1}, "transaction 4 has freed page 10, expected one from 2 to 8"},
      {4, {kFreed, kLeft}, "page 4 (tree free): it is in the list of free pages, but a tree uses"},
  };
  for (const auto& row : rows) {
    make_free(row.by, row.pages);
    EXPECT_THAT(found(), ElementsAre(HasSubstr(row.finding)));
  }
  image_.make_metas(leaf_root(kMainPage, 2), leaf_root(kFreeLeaf, 2));
  image_.make_leaf(kFreeLeaf,
                   {{number_bytes(uint64_t{3}), number_bytes(uint64_t{1}) + number_bytes(kFreed)},
                    {number_bytes(uint64_t{4}), number_bytes(uint64_t{1}) + number_bytes(kFreed)}});
  EXPECT_THAT(found(), ElementsAre(HasSubstr("page 9 is free twice")));
}

TEST_F(PageWalkTest, RefusesAMalformedListOfFreePages) {
  for (const std::string& list : {std::string(), std::string(7, '\0'), std::string(12, '\0'),
                                  number_bytes(uint64_t{2}) + number_bytes(kFreed)}) {
    image_.make_leaf(kFreeLeaf, {{number_bytes(uint64_t{4}), list}});
    EXPECT_THAT(found(), ElementsAre(HasSubstr("and eight bytes for each page and their count")))
        << list.size();
  }
  image_.make_leaf(kFreeLeaf, {{"short", number_bytes(uint64_t{0})}});
  EXPECT_THAT(found(), ElementsAre(HasSubstr("key 0 has 5 bytes, expected 8")));
}

TEST_F(PageWalkTest, ReadsAListOfFreePagesInAnOverflowRun) {
  image_.make_leaf(kRight, {{"m", "3"}});
  live_.overflow_pages = 0;
  live_.entries = 3;
  make_main();
  Root free = leaf_root(kFreeLeaf, 1);
  free.overflow_pages = 2;
  image_.make_metas(leaf_root(kMainPage, 2), free);
  image_.make_leaf(kFreeLeaf, {{number_bytes(uint64_t{4}), number_bytes(kRun), kInOverflow, 600}});
  image_.put(kRun, 16, uint64_t{2});
  image_.put(kRun, 24, kFreed + 1);
  image_.put(kRun, 32, kFreed);
  EXPECT_THAT(found(), IsEmpty()) << "the run may be longer than the list";
  image_.put(kRun, 32, kLeft);
  EXPECT_THAT(found(), ElementsAre(HasSubstr("page 4 (tree free): it is in the list")));
}

TEST_F(PageWalkTest, NamesThePagesBeyondTheEndOfATruncatedFile) {
  image_.bytes().resize(10 * PageImage::kBytes);
  EXPECT_THAT(found(), IsEmpty()) << "page 10 is free and may never have been written";
  image_.bytes().resize(9 * PageImage::kBytes);
  EXPECT_THAT(found(), IsEmpty());
  make_free(4, {kFreed + 1});
  EXPECT_THAT(found(), ElementsAre(HasSubstr("the last page is 10, and the file was cut short: it "
                                             "has 4608 bytes, 9 pages")));
  image_.bytes().resize(8 * PageImage::kBytes + 100);
  EXPECT_THAT(found(), ElementsAre(HasSubstr("page 0 (tree free): it leads to page 8, expected "
                                             "pages from 2 to 7")));
}

TEST_F(PageWalkTest, SkipsTheLeafPagesOfALargeTree) {
  image_.put_text(kLeft, 0, "rubbish");
  const PageCheckOptions large{.large_trees = {"live"}, .most_leaf_pages = 1};
  EXPECT_THAT(found(large), IsEmpty());
  EXPECT_EQ(found({.large_trees = {"live"}, .most_leaf_pages = 2}).size(), 1U)
      << "the tree has fewer leaf pages than a large one";
  EXPECT_EQ(found({.large_trees = {"meta"}, .most_leaf_pages = 1}).size(), 1U)
      << "only named trees are large";
  image_.put_text(kBranchPage, 0, "rubbish");
  EXPECT_EQ(found(large).size(), 1U) << "branch pages are read";
}

TEST_F(PageWalkTest, NamesAPageThatCannotBeRead) {
  image_.write_to(folder_.path() / "data.mdb");
  const auto file = PageFile::open(folder_.path() / "data.mdb").value();
  file->descriptor.reset();
  const PageCheckOptions options;
  const PageReport report = PageWalk(*file, options).run();
  ASSERT_EQ(report.count, 2U) << "one damage for each tree with a known root";
  EXPECT_EQ(to_string(report.damages[0]),
            "page 2 (tree main): it cannot be read: Bad file descriptor");
  EXPECT_THAT(to_string(report.damages[1]), HasSubstr("page 8 (tree free): it cannot be read"));
}

TEST_F(PageWalkTest, KeepsALimitedNumberOfDamagesAndCountsAll) {
  image_.put_text(kLeft, 0, "rubbish");
  image_.put_text(kRight, 0, "rubbish");
  image_.put_text(kFreeLeaf, 0, "rubbish");
  EXPECT_EQ(run().damages.size(), 3U);
  const PageReport report = run({.most_damages = 1});
  EXPECT_EQ(report.damages.size(), 1U);
  EXPECT_EQ(report.count, 3U);
  EXPECT_EQ(run({.most_damages = 0}).count, 3U);
}

}  // namespace
}  // namespace millrace
