// PageCheck: it has no finding in files that LMDB wrote, and a finding for each damage that could
// mislead LMDB. For a tenth of the damaged files without a finding, LMDB reads and writes the file
// in a process of its own; with MILLRACE_CASES=0, for all of these files.
#include "orchestrator/store/disk/page_check.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/transaction.h"
#include "tests/support/file_bytes.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

using testing::HasSubstr;

constexpr size_t kPage = 4096;
constexpr size_t kHead = 16;

void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

PageReport check(const std::filesystem::path& file) {
  auto opened = PageCheck::open(file);
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? opened->run() : PageReport();
}

std::string lines_of(const PageReport& report) {
  std::string lines;
  for (const PageDamage& damage : report.damages) lines += to_string(damage) + "\n";
  return lines;
}

/// A folder in memory if there is one: these tests sync often.
std::string fast_place() {
  return std::filesystem::is_directory("/dev/shm/") ? "/dev/shm/" : testing::TempDir();
}

/// A long key, so that trees are deep although they have few pages.
std::string key_of(size_t number) { return fmt::format("{:08}", number) + std::string(392, 'k'); }

/// A store with trees of depth 0 to 3, overflow runs and free pages, and the bytes of its file
/// before the last checkpoint.
class PageCheckTest : public testing::Test {
 protected:
  PageCheckTest() {
    write_rows();
    bytes_ = file_bytes(file());
    expected_ = use_in_child(bytes_);
  }

  void write_rows() {
    const auto environment = Environment::open(folder_.path(), {.reserve_bytes = 0}).value();
    Transaction tx(*environment);
    const auto commit = [&] {
      EXPECT_TRUE(tx.commit());
      EXPECT_TRUE(environment->checkpoint());
    };
    for (size_t i = 0; i < 700; ++i) tx.put(Table::kLive, key_of(i), std::string(20, 'v'));
    for (size_t i = 0; i < 60; ++i) {
      tx.put(Table::kHistory, fmt::format("{:08}", i), std::string(90 * i, 'h'));
    }
    commit();
    for (size_t i = 0; i < 20; ++i) tx.put(Table::kEnded, key_of(i), "ended");
    for (size_t i = 100; i < 300; i += 2) tx.erase(Table::kLive, key_of(i));
    tx.put(Table::kMeta, "one", "1");
    commit();
    older_ = file_bytes(file());
    for (size_t i = 400; i < 500; i += 3) tx.put(Table::kLive, key_of(i), "w");
    tx.put(Table::kVariables, "large", std::string(50'000, 'l'));
    commit();
  }

  std::filesystem::path file() const { return folder_.path() / "data.mdb"; }
  static std::string_view page_of(const std::string& bytes, size_t page) {
    return std::string_view(bytes).substr(page * kPage, kPage);
  }
  static uint16_t number_at(std::string_view page, size_t at) {
    uint16_t number = 0;
    std::memcpy(&number, page.data() + at, sizeof number);
    return number;
  }

  /// Reads all rows by walk and by key, then writes to the trees. Returns the number of rows or the
  /// error.
  static std::string use(const std::filesystem::path& folder) {
    const auto environment = Environment::open(folder, {.reserve_bytes = 0});
    if (!environment) return "refused: " + environment.error().message;
    Transaction tx(**environment);
    size_t rows = 0;
    for (const TableName& table : kTables) {
      std::vector<std::string> of_table;
      const auto see = [&](std::string_view key, std::string_view) {
        of_table.emplace_back(key);
        return true;
      };
      static_cast<const View&>(tx).scan(table.table, {}, see);
      for (const std::string& key : of_table) {
        if (!tx.get(table.table, key)) return "a row is not found by its key";
        ++rows;
      }
    }
    if (!tx.status()) return tx.status().error().message;
    for (size_t i = 0; i < 700; i += 7) {
      i % 2 == 0 ? tx.erase(Table::kLive, key_of(i)) : tx.put(Table::kLive, key_of(i), "changed");
    }
    tx.put(Table::kVariables, "large", std::string(60'000, 'm'));
    if (const Status done = tx.commit(); !done) return done.error().message;
    if (const Status done = (*environment)->checkpoint(); !done) return done.error().message;
    return fmt::format("{} rows", rows);
  }

  /// Runs use() in a process of its own, on a copy of the store.
  std::string use_in_child(const std::string& bytes) const {
    const Folder copy(fast_place());
    std::filesystem::copy(folder_.path(), copy.path(), std::filesystem::copy_options::recursive);
    write_bytes(copy.path() / "data.mdb", bytes);
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(600);  // ends a process that hangs, however busy the machine is
      const std::string text = use(copy.path());
      for (size_t done = 0; done < text.size();) {
        const ssize_t some = ::write(ends[1], text.data() + done, text.size() - done);
        if (some <= 0) ::_exit(1);
        done += static_cast<size_t>(some);
      }
      ::_exit(0);
    }
    ::close(ends[1]);
    std::string text;
    std::array<char, 4096> some{};
    for (ssize_t got = 0; (got = ::read(ends[0], some.data(), some.size())) > 0;) {
      text.append(some.data(), static_cast<size_t>(got));
    }
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? fmt::format("died of signal {}", WTERMSIG(status)) : text;
  }

  /// Expects a finding, or a file that LMDB uses without an error.
  void expect_found_or_harmless(const std::string& damaged, const std::string& what) {
    write_bytes(file(), damaged);
    const PageReport report = check(file());
    if (report.count > 0) {
      ++found_;
      EXPECT_FALSE(report.damages.empty()) << what;
      return;
    }
    // Each case needs a process and some synced writes.
    constexpr size_t kOneOf = 10;
    if (++harmless_ % kOneOf != 0 && std::getenv("MILLRACE_CASES") == nullptr) return;
    // An older root of a tree may be intact; then the journal refuses the file.
    const std::string used = use_in_child(damaged);
    EXPECT_TRUE(used == expected_ || used.starts_with("refused: ")) << what << ": " << used;
  }

  Folder folder_{fast_place()};
  std::string older_;
  std::string bytes_;
  std::string expected_;  ///< the result of use() for the undamaged file
  size_t found_ = 0;
  size_t harmless_ = 0;
};

TEST_F(PageCheckTest, FindsNothingInAnUndamagedFile) {
  EXPECT_EQ(expected_, "682 rows");
  EXPECT_EQ(lines_of(check(file())), "");
  std::set<uint16_t> kinds;
  for (size_t page = 0; page < bytes_.size() / kPage; ++page) {
    kinds.insert(number_at(page_of(bytes_, page), 10));
  }
  EXPECT_THAT(kinds, testing::IsSupersetOf({0x01, 0x02, 0x04, 0x08}));
  EXPECT_GT(check(file()).pages, 100U);
}

TEST_F(PageCheckTest, FindsADamagedByteUnlessItIsHarmless) {
  std::mt19937_64 random(20);
  // The heads of pages, the offsets, and the heads of nodes: damage there misleads LMDB.
  const auto structural = [&](size_t page) -> size_t {
    const std::string_view bytes = page_of(bytes_, page);
    const size_t lower = number_at(bytes, 12);
    if (random() % 3 == 0 || lower > kPage || lower <= kHead) return random() % 160;
    if (random() % 2 == 0) return kHead + random() % (lower - kHead);
    const size_t node = number_at(bytes, kHead + 2 * (random() % ((lower - kHead) / 2)));
    return std::min(node + random() % 12, kPage - 1);
  };
  const size_t pages = bytes_.size() / kPage;
  for (size_t i = 0; i < 1'000; ++i) {
    const size_t page = random() % pages;
    const size_t at = page * kPage + (i % 10 == 0 ? random() % kPage : structural(page));
    const auto mask = static_cast<char>(i % 2 == 0 ? 1 << random() % 8 : 1 + random() % 255);
    std::string damaged = bytes_;
    damaged[at] = static_cast<char>(damaged[at] ^ mask);
    expect_found_or_harmless(damaged, fmt::format("case {}: page {} byte {} ^ {:02x}", i, page,
                                                  at % kPage, static_cast<uint8_t>(mask)));
    if (HasFailure()) return;
  }
  EXPECT_GT(found_, 250U);
  EXPECT_GT(harmless_, 50U);
}

TEST_F(PageCheckTest, FindsAZeroedSwappedOrOlderPageUnlessItIsHarmless) {
  std::mt19937_64 random(21);
  const size_t pages = bytes_.size() / kPage;
  for (size_t page = 0; page < pages; ++page) {
    std::string zeroed = bytes_;
    zeroed.replace(page * kPage, kPage, kPage, '\0');
    expect_found_or_harmless(zeroed, fmt::format("page {} zeroed", page));
    const size_t other = random() % pages;
    std::string swapped = bytes_;
    swapped.replace(page * kPage, kPage, page_of(bytes_, other));
    swapped.replace(other * kPage, kPage, page_of(bytes_, page));
    expect_found_or_harmless(swapped, fmt::format("pages {} and {} swapped", page, other));
    if (page >= older_.size() / kPage) continue;
    std::string stale = bytes_;
    stale.replace(page * kPage, kPage, page_of(older_, page));
    expect_found_or_harmless(stale, fmt::format("older page {}", page));
  }
  EXPECT_GT(found_, 100U);
}

TEST_F(PageCheckTest, FindsATruncatedFileUnlessTheTruncationIsHarmless) {
  for (size_t size = 1; size < bytes_.size(); size += 3 * kPage + 511) {
    expect_found_or_harmless(bytes_.substr(0, size), fmt::format("cut to {}", size));
  }
  EXPECT_GT(found_, 20U);
}

TEST_F(PageCheckTest, TerminatesOnAFileWithRandomBytes) {
  std::mt19937_64 random(22);
  for (size_t i = 0; i < 2'000; ++i) {
    std::string damaged = bytes_;
    for (size_t n = 0; n < 1 + i % 40; ++n) {
      damaged[random() % (i % 2 == 0 ? damaged.size() : 2 * kPage)] = static_cast<char>(random());
    }
    write_bytes(file(), damaged);
    auto opened = PageCheck::open(file());
    if (!opened) {  // the bytes give another format of LMDB
      EXPECT_EQ(opened.error().code, "store.version") << "case " << i;
      continue;
    }
    const PageReport report = opened->run();
    if (report.count > 0) ++found_;
    EXPECT_EQ(report.damages.size(), std::min<uint64_t>(report.count, 100)) << "case " << i;
    EXPECT_LE(report.pages, bytes_.size() / kPage) << "case " << i;
  }
  EXPECT_GT(found_, 500U);
}

TEST_F(PageCheckTest, RefusesTheStartOfADamagedStore) {
  size_t branch = 2;
  while (number_at(page_of(bytes_, branch), 10) != 0x01) ++branch;
  std::string damaged = bytes_;
  damaged.replace(branch * kPage, kPage, kPage, '\0');
  write_bytes(file(), damaged);
  for (const bool read_only : {false, true}) {
    const auto opened = Environment::open(folder_.path(), {.read_only = read_only});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, "store.corrupt");
    EXPECT_THAT(opened.error().message, HasSubstr(fmt::format("page {} (tree", branch)));
    EXPECT_THAT(opened.error().message, HasSubstr("millrace verify --data"));
    EXPECT_THAT(opened.error().message, HasSubstr("restore the last backup"));
  }
  EXPECT_EQ(file_bytes(file()) == damaged, true) << "nothing is written";
}

TEST_F(PageCheckTest, ReadsOnlyBranchPagesOfALargeTree) {
  const PageCheckOptions options{.large_trees = {"live"}, .most_leaf_pages = 10};
  EXPECT_EQ(PageCheck::open(file())->run(options).count, 0U);
  EXPECT_LT(PageCheck::open(file())->run(options).pages, check(file()).pages);
  size_t branches = 0;
  size_t leaves = 0;
  for (size_t page = 2; page < bytes_.size() / kPage; ++page) {
    std::string damaged = bytes_;  // a leaf page as a branch page, or the reverse
    damaged[page * kPage + 10] = static_cast<char>(damaged[page * kPage + 10] ^ 0x03);
    write_bytes(file(), damaged);
    const PageReport all = check(file());
    if (all.count == 0 || all.damages.front().tree != "live") continue;
    const bool is_branch = number_at(page_of(bytes_, page), 10) == 0x01;
    ++(is_branch ? branches : leaves);
    EXPECT_EQ(PageCheck::open(file())->run(options).count > 0, is_branch) << page;
  }
  EXPECT_GT(branches, 2U);
  EXPECT_GT(leaves, 30U);
}

TEST(PageCheck, NamesAFileThatItCannotOpen) {
  const auto opened = PageCheck::open("/nowhere/data.mdb");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, "store.io");
  EXPECT_THAT(opened.error().message, HasSubstr("/nowhere/data.mdb"));
}

// Splits, merges, overflow runs that come and go, trees that become empty, a free tree that grows
// and shrinks: the pages of LMDB have no finding, even while they are written.
TEST(PageCheck, FindsNothingInPagesThatLmdbWrites) {
  const Folder folder(fast_place());
  const auto environment =
      Environment::open(folder.path(), {.reserve_bytes = 0, .checkpoint_bytes = 1}).value();
  Transaction tx(*environment);
  std::mt19937_64 random(23);
  for (size_t round = 0; round < 300; ++round) {
    const auto table = random() % 2 == 0 ? Table::kLive : Table::kOutbox;
    const size_t most = round % 60 < 40 ? 400 : 0;
    for (size_t i = 0; i < 200; ++i) {
      const std::string key = fmt::format("{:06}", random() % 3'000) +
                              std::string(random() % 8 == 0 ? random() % 400 : 3, 'k');
      tx.put(table, key, std::string(random() % 30 == 0 ? random() % 30'000 : random() % 300, 'v'));
    }
    std::vector<std::string> keys;
    static_cast<const View&>(tx).scan(table, {}, [&](std::string_view key, std::string_view) {
      keys.emplace_back(key);
      return true;
    });
    std::shuffle(keys.begin(), keys.end(), random);
    for (size_t i = most; i < keys.size(); ++i) tx.erase(table, keys[i]);
    ASSERT_TRUE(tx.commit());
    const auto while_written = environment->check_pages({});
    ASSERT_TRUE(while_written) << while_written.error().message;
    ASSERT_EQ(lines_of(*while_written), "") << round;
    if (round % 10 != 0) continue;
    ASSERT_TRUE(environment->checkpoint());
    ASSERT_EQ(lines_of(check(folder.path() / "data.mdb")), "") << round;
  }
}

TEST(PageCheck, CanBeStoppedByItsCaller) {
  const Folder folder(fast_place());
  const auto environment = Environment::open(folder.path(), {.reserve_bytes = 0}).value();
  Transaction tx(*environment);
  for (size_t i = 0; i < 5'000; ++i) tx.put(Table::kLive, key_of(i), std::string(3'000, 'v'));
  ASSERT_TRUE(tx.commit());
  ASSERT_TRUE(environment->checkpoint());
  const auto stopped = environment->check_pages({.goes_on = [] { return false; }});
  ASSERT_TRUE(stopped);
  EXPECT_TRUE(stopped->is_stopped);
  EXPECT_EQ(stopped->count, 0U);
  const auto whole = environment->check_pages({.goes_on = [] { return true; }});
  EXPECT_FALSE(whole->is_stopped);
  EXPECT_GT(whole->pages, stopped->pages);
}

}  // namespace
}  // namespace millrace
