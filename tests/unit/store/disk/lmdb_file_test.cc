// LmdbFile: the LMDB file alone, without the journal and the memtables above it.
#include "orchestrator/store/disk/lmdb_file.h"

#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/codec.h"
#include "orchestrator/store/disk/page_check.h"
#include "orchestrator/store/disk/write_set.h"
#include "tests/support/file_bytes.h"
#include "tests/support/file_faults.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kMap = uint64_t{1} << 30;

class LmdbFileTest : public testing::Test {
 protected:
  LmdbFileTest() { open(); }
  ~LmdbFileTest() override { FileFaults::disarm(); }

  void open() {
    file_.reset();
    auto opened = LmdbFile::open(folder_.path(), kMap);
    ASSERT_TRUE(opened) << opened.error().message;
    file_ = std::move(*opened);
  }
  void open_to_read() {
    file_.reset();
    auto opened = LmdbFile::open_to_read(folder_.path(), kMap);
    ASSERT_TRUE(opened) << opened.error().message;
    file_ = std::move(*opened);
  }

  std::filesystem::path path() const { return folder_.path() / "data.mdb"; }

  /// Writes in one transaction; returns the code of its error, or `ok`.
  std::string write(const WriteSet& writes, std::optional<uint64_t> commit = std::nullopt) {
    auto writer = LmdbWriter::begin(*file_);
    if (!writer) return writer.error().code;
    for (const auto& [key, value] : writes) {
      const auto written = writer->write(key, value);
      if (!written) return written.error().code;
    }
    if (commit) {
      if (const Status done = writer->set_checkpointed(*commit); !done) return done.error().code;
    }
    const Status done = writer->commit();
    return done ? "ok" : done.error().code;
  }

  /// The rows of a range as `key=value`; no read may fail.
  std::vector<std::string> keys_of(const KeyRange& range,
                                   Direction direction = Direction::kForward) {
    LmdbReader reader(*file_);
    EXPECT_TRUE(reader.begin());
    std::vector<std::string> keys;
    for (LmdbCursor cursor(reader, range, direction); cursor.valid(); cursor.next()) {
      keys.push_back(fmt::format("{}={}", cursor.key(), cursor.value()));
    }
    EXPECT_TRUE(reader.status());
    return keys;
  }

  std::optional<std::string> read(Table table, std::string_view key) {
    LmdbReader reader(*file_);
    EXPECT_TRUE(reader.begin());
    const auto value = reader.get(table, key);
    EXPECT_TRUE(reader.status());
    return value ? std::optional<std::string>(*value) : std::nullopt;
  }

  /// Renames a tree or a key in the file, so that LMDB does not find it.
  void rename_tree(std::string_view from, std::string_view to) {
    file_.reset();
    std::string bytes = file_bytes(path());
    ASSERT_EQ(from.size(), to.size());
    for (size_t at = 0; (at = bytes.find(from, at)) != std::string::npos; ++at) {
      bytes.replace(at, from.size(), to);
    }
    std::ofstream(path(), std::ios::binary) << bytes;
  }

  Folder folder_{fast_folder()};
  std::unique_ptr<LmdbFile> file_;
};

// Opening.

TEST_F(LmdbFileTest, HasAllTreesAndNoRowsWhenItIsNew) {
  LmdbReader reader(*file_);
  ASSERT_TRUE(reader.begin());
  for (const TableName& one : kTables) {
    EXPECT_TRUE(file_->has_tree(one.table)) << one.name;
    EXPECT_EQ(reader.count(one.table), 0U) << one.name;
    EXPECT_EQ(reader.get(one.table, "key"), std::nullopt) << one.name;
  }
  EXPECT_EQ(file_->checkpointed().value(), std::nullopt);
  EXPECT_EQ(file_->measure()->used_bytes, 0U);
}

TEST_F(LmdbFileTest, KeepsItsRowsWhenItIsOpenedAgain) {
  ASSERT_EQ(write({{"lkey", "value"}, {"mkey", "other"}}, 7), "ok");
  for (const bool to_read : {false, true}) {
    to_read ? open_to_read() : open();
    EXPECT_EQ(read(Table::kLive, "key"), "value");
    EXPECT_EQ(read(Table::kMeta, "key"), "other");
    EXPECT_EQ(file_->checkpointed().value(), 7U);
  }
}

TEST_F(LmdbFileTest, IsNotCreatedWhenItIsOpenedForReading) {
  const Folder empty;
  const auto opened = LmdbFile::open_to_read(empty.path(), kMap);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, "store.io");
  EXPECT_THAT(opened.error().message, HasSubstr(empty.path().string()));
  EXPECT_TRUE(std::filesystem::is_empty(empty.path()));
}

TEST_F(LmdbFileTest, NamesAFileThatCannotBeOpened) {
  const auto missing = LmdbFile::open(folder_.path() / "missing", kMap);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, "store.io");
  EXPECT_THAT(missing.error().message, HasSubstr((folder_.path() / "missing").string()));
  const Folder other;
  std::filesystem::create_directory(other.path() / "data.mdb");
  const auto is_folder = LmdbFile::open(other.path(), kMap);
  ASSERT_FALSE(is_folder);
  EXPECT_EQ(is_folder.error().code, "store.io");
  std::filesystem::remove(other.path() / "data.mdb");
  std::ofstream(other.path() / "data.mdb") << std::string(100'000, 'x');
  for (const auto open_file : {LmdbFile::open, LmdbFile::open_to_read}) {
    const auto rubbish = open_file(other.path(), kMap);
    ASSERT_FALSE(rubbish);
    EXPECT_EQ(rubbish.error().code, "store.corrupt");
    EXPECT_THAT(rubbish.error().message, HasSubstr("page 0 (tree main): the magic is 78787878"));
  }
}

TEST_F(LmdbFileTest, EnlargesTheMapToTheSizeOfTheFile) {
  const uint64_t map = file_->map_bytes();
  EXPECT_EQ(map, kMap);
  ASSERT_EQ(write({{"lkey", std::string(4 << 20, 'v')}}), "ok");
  file_.reset();
  const auto opened = LmdbFile::open(folder_.path(), 1 << 20);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_GE((*opened)->map_bytes(), uint64_t{4} << 20);
}

TEST_F(LmdbFileTest, IsRefusedIfATreeIsMissingUnlessItIsOpenedForReading) {
  Writer format;
  format.u64(5);
  ASSERT_EQ(
      write({{"mformat", std::string(format.view())}, {"lkey", "value"}, {"nkey", "name"}}, 1),
      "ok");
  const uint64_t used = file_->measure()->used_bytes;
  ASSERT_EQ(write({{"lkey", std::nullopt}, {"mother", "1"}}), "ok");  // this frees pages
  const uint64_t without_live = file_->measure()->used_bytes;
  EXPECT_LT(without_live, used);
  rename_tree("live", "liv#");
  const auto refused = LmdbFile::open(folder_.path(), kMap);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "store.corrupt");
  EXPECT_THAT(refused.error().message, HasSubstr("has no tree \"live\""));

  open_to_read();
  EXPECT_FALSE(file_->has_tree(Table::kLive));
  EXPECT_TRUE(file_->has_tree(Table::kMeta));
  LmdbReader reader(*file_);
  ASSERT_TRUE(reader.begin());
  EXPECT_EQ(reader.get(Table::kLive, "key"), std::nullopt);
  EXPECT_EQ(reader.count(Table::kLive), 0U);
  EXPECT_FALSE(LmdbCursor(reader, {"l", "m"}, Direction::kForward).valid());
  EXPECT_FALSE(LmdbCursor(reader, {"l", "m"}, Direction::kBackward).valid());
  EXPECT_TRUE(reader.status()) << "a missing tree is read as an empty one";
  EXPECT_EQ(reader.get(Table::kNamespaces, "key"), "name");
  EXPECT_EQ(file_->measure()->used_bytes, without_live) << "a missing tree has no pages";
}

TEST_F(LmdbFileTest, ListsTheTreesThatBelongToNoTable) {
  EXPECT_THAT(file_->unknown_trees().value(), IsEmpty());
  EXPECT_TRUE(file_->refuse_unknown_trees());
  ASSERT_EQ(write({{"lkey", "value"}}), "ok");
  rename_tree("live", "liv#");
  rename_tree("journal", "journa#");
  open_to_read();
  EXPECT_THAT(file_->unknown_trees().value(), ElementsAre("journa#", "liv#"));
  const Status refused = file_->refuse_unknown_trees();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "tree.unknown");
  EXPECT_THAT(refused.error().message, HasSubstr("the tree \"journa#\""));
}

TEST_F(LmdbFileTest, HasNoCheckpointedCommitIfTheTreeOfTheJournalIsMissing) {
  ASSERT_EQ(write({{"lkey", "value"}}, 3), "ok");
  rename_tree("journal", "journa#");
  open_to_read();
  EXPECT_EQ(file_->checkpointed().value(), std::nullopt);
  EXPECT_THAT(file_->unknown_journal_keys().value(), IsEmpty());
}

TEST_F(LmdbFileTest, ListsTheUnknownKeysInTheTreeOfTheJournal) {
  EXPECT_THAT(file_->unknown_journal_keys().value(), IsEmpty());
  ASSERT_EQ(write({{"lkey", "value"}}, 3), "ok");
  EXPECT_THAT(file_->unknown_journal_keys().value(), IsEmpty());
  rename_tree("checkpointed", "checkpointe#");
  open_to_read();
  EXPECT_THAT(file_->unknown_journal_keys().value(), ElementsAre("checkpointe#"));
  EXPECT_EQ(file_->checkpointed().value(), std::nullopt);
}

// Reading.

TEST_F(LmdbFileTest, ShowsAReaderTheRowsAsTheyWereWhenTheReaderBegan) {
  ASSERT_EQ(write({{"lkey", "old"}, {"lgone", "old"}}), "ok");
  LmdbReader reader(*file_);
  ASSERT_TRUE(reader.begin());
  ASSERT_EQ(write({{"lkey", "new"}, {"lgone", std::nullopt}, {"lmore", "new"}}), "ok");
  EXPECT_TRUE(reader.begin()) << "the reader keeps its snapshot";
  EXPECT_EQ(reader.get(Table::kLive, "key"), "old");
  EXPECT_EQ(reader.get(Table::kLive, "gone"), "old");
  EXPECT_EQ(reader.get(Table::kLive, "more"), std::nullopt);
  EXPECT_EQ(reader.count(Table::kLive), 2U);
  reader.release();
  ASSERT_TRUE(reader.begin());
  EXPECT_EQ(reader.get(Table::kLive, "key"), "new");
  EXPECT_EQ(reader.get(Table::kLive, "gone"), std::nullopt);
  EXPECT_EQ(reader.count(Table::kLive), 2U);
}

TEST_F(LmdbFileTest, KeepsTheFirstErrorOfAReaderUntilItsRelease) {
  ASSERT_EQ(write({{"lkey", "value"}}), "ok");
  LmdbReader reader(*file_);
  ASSERT_TRUE(reader.begin());
  EXPECT_EQ(reader.get(Table::kLive, ""), std::nullopt) << "LMDB refuses an empty key";
  ASSERT_FALSE(reader.status());
  EXPECT_EQ(reader.status().error().code, "store.io");
  EXPECT_THAT(reader.status().error().message, HasSubstr("reading live in "));
  reader.fail({"other", "later"});
  EXPECT_EQ(reader.status().error().code, "store.io");
  reader.release();
  EXPECT_TRUE(reader.status());
  reader.fail({"other", "now"});
  EXPECT_EQ(reader.status().error().code, "other");
  EXPECT_FALSE(reader.begin()) << "a reader with an error cannot begin";
  reader.release();
  ASSERT_TRUE(reader.begin());
  EXPECT_EQ(reader.get(Table::kLive, "key"), "value");
}

TEST_F(LmdbFileTest, LimitsTheNumberOfReaders) {
  std::vector<LmdbReader> readers;
  readers.reserve(600);
  do {
    readers.emplace_back(*file_);
  } while (readers.back().begin() && readers.size() < 600);
  EXPECT_GT(readers.size(), 500U);
  ASSERT_FALSE(readers.back().status());
  EXPECT_EQ(readers.back().status().error().code, "store.readers");
  const auto checked = file_->check_pages({});
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, "store.readers");
  EXPECT_EQ(file_->checkpointed().error().code, "store.readers");
  EXPECT_EQ(file_->measure().error().code, "store.readers");
  readers.erase(readers.begin());
  readers.back().release();
  EXPECT_TRUE(readers.back().begin());
}

TEST_F(LmdbFileTest, WalksARangeInBothDirections) {
  ASSERT_EQ(write({{"lb", "1"}, {"lba", "2"}, {"lc", "3"}, {"ld", "4"}, {"ma", "5"}}), "ok");
  const struct {
    KeyRange range;
    std::vector<std::string> keys;
  } rows[] = {
      {{"l", "m"}, {"b=1", "ba=2", "c=3", "d=4"}},
      {{"la", "lc"}, {"b=1", "ba=2"}},
      {{"lb", "lb\xff"}, {"b=1", "ba=2"}},
      {{"lba", "m"}, {"ba=2", "c=3", "d=4"}},
      {{"lc", "lc"}, {}},
      {{"le", "m"}, {}},
      {{"l", "lb"}, {}},
      {{"d", "e"}, {}},  // an empty table
      {{"m", "n"}, {"a=5"}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.range.low + " to " + row.range.high);
    EXPECT_EQ(keys_of(row.range), row.keys);
    EXPECT_EQ(keys_of(row.range, Direction::kBackward),
              std::vector<std::string>(row.keys.rbegin(), row.keys.rend()));
  }
}

// Writing.

TEST_F(LmdbFileTest, DropsTheChangesOfAWriterThatDidNotCommit) {
  ASSERT_EQ(write({{"lkey", "old"}}, 1), "ok");
  {
    auto writer = LmdbWriter::begin(*file_).value();
    ASSERT_TRUE(writer.write("lkey", "new"));
    ASSERT_TRUE(writer.set_checkpointed(2));
  }
  EXPECT_EQ(read(Table::kLive, "key"), "old");
  EXPECT_EQ(file_->checkpointed().value(), 1U);
  EXPECT_EQ(write({{"lkey", "new"}}, 2), "ok") << "the next writer can begin";
  EXPECT_EQ(read(Table::kLive, "key"), "new");
}

TEST_F(LmdbFileTest, EstimatesTheBytesThatAWriterChanges) {
  auto writer = LmdbWriter::begin(*file_).value();
  EXPECT_EQ(writer.write("lb", "value").value(), 6U) << "a row at the end of the table";
  EXPECT_EQ(writer.write("la", "value").value(), 6U + file_->page_bytes());
  EXPECT_EQ(writer.write("lb", std::nullopt).value(), file_->page_bytes());
  EXPECT_EQ(writer.write("lb", std::nullopt).value(), 0U) << "the row is erased";
}

TEST_F(LmdbFileTest, BehavesLikeAMapOfRows) {
  std::mt19937_64 random(5);
  std::map<std::string, std::string> expected;
  for (int round = 0; round < 40; ++round) {
    WriteSet writes;
    for (int i = 0; i < 100; ++i) {
      const std::string key = fmt::format("{}{}", "lmh"[random() % 3], random() % 500);
      const size_t size = random() % 20 == 0 ? random() % 20'000 : random() % 100;
      writes[key] =
          random() % 3 == 0 ? std::nullopt : std::optional(std::string(size, 'a' + round % 26));
    }
    ASSERT_EQ(write(writes), "ok");
    for (const auto& [key, value] : writes) {
      expected.erase(key);
      if (value) expected.emplace(key, *value);
    }
    std::map<std::string, std::string> found;
    LmdbReader reader(*file_);
    ASSERT_TRUE(reader.begin());
    for (const char* const table : {"l", "m", "h"}) {
      const KeyRange range{table, std::string(1, static_cast<char>(table[0] + 1))};
      for (LmdbCursor cursor(reader, range, Direction::kForward); cursor.valid(); cursor.next()) {
        found.emplace(table + std::string(cursor.key()), cursor.value());
      }
    }
    ASSERT_EQ(found == expected, true) << "round " << round;
  }
  EXPECT_EQ(file_->check_pages({})->count, 0U);
}

TEST_F(LmdbFileTest, RefusesAnEmptyOrTooLongKey) {
  EXPECT_EQ(write({{"l" + std::string(kMaxKeySize, 'k'), "value"}}), "ok");
  EXPECT_EQ(write({{"l" + std::string(kMaxKeySize + 1, 'k'), "value"}}), "store.io");
  EXPECT_EQ(write({{"l", "value"}}), "store.io");
  EXPECT_EQ(keys_of({"l", "m"}).size(), 1U);
}

TEST_F(LmdbFileTest, KeepsItsRowsWhenTheMapIsFull) {
  ASSERT_EQ(write({{"lkey", "value"}}), "ok");
  file_.reset();
  file_ = LmdbFile::open(folder_.path(), 1 << 20).value();
  EXPECT_EQ(write({{"lkey", "other"}, {"llarge", std::string(2 << 20, 'v')}}), "store.full");
  EXPECT_EQ(read(Table::kLive, "key"), "value");
  EXPECT_EQ(write({{"lkey", "other"}}), "ok");
}

TEST_F(LmdbFileTest, ReportsByItsErrorCodeWhetherAFailedCommitMayBeOnDisk) {
  const struct {
    FileFault fault;
    std::string_view code;
  } rows[] = {{FileFault::kNone, "store.full"},
              {FileFault::kError, "store.sync"},
              {FileFault::kSync, "store.sync"},
              {FileFault::kRoot, "store.sync"}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.code);
    ASSERT_EQ(write({{"lkey", "before"}}, 1), "ok");
    FileFaults::arm(row.fault, 1);
    EXPECT_EQ(write({{"lkey", "after"}}, 2), row.code);
    EXPECT_TRUE(FileFaults::has_struck());
    FileFaults::disarm();
    open();
    EXPECT_EQ(read(Table::kLive, "key"), "before");
    EXPECT_EQ(file_->checkpointed().value(), 1U);
  }
}

// Space.

TEST_F(LmdbFileTest, DoesNotUnderestimateTheSpaceOfRows) {
  std::mt19937_64 random(6);
  uint64_t room = 0;
  for (size_t size = 0; size < 30'000; size += 1 + size / 3) {
    WriteSet writes;
    for (int i = 0; i < 40; ++i) {
      const std::string key = fmt::format("l{:08}", random());
      writes[key] = std::string(size, 'v');
      room += file_->room_for(key.size() - 1, size);
    }
    ASSERT_EQ(write(writes), "ok");
    // The estimate does not include the first leaf page and the branch pages.
    const LmdbFile::Size found = file_->measure().value();
    EXPECT_LE(found.used_bytes, room + (found.branch_pages + 1) * file_->page_bytes()) << size;
    EXPECT_LE(found.used_bytes, found.end_bytes);
  }
}

TEST_F(LmdbFileTest, MeasuresItsFreePages) {
  constexpr uint64_t kOwnPages = 32;  // the most pages that meta pages and LMDB's own trees have
  const auto expect_sum = [&](const LmdbFile::Size& size) {
    EXPECT_LE(size.used_bytes + size.free_bytes, size.end_bytes);
    EXPECT_GE(size.used_bytes + size.free_bytes + kOwnPages * file_->page_bytes(), size.end_bytes);
  };
  EXPECT_EQ(file_->measure()->free_bytes, 0U);
  WriteSet writes;
  for (int i = 0; i < 100; ++i) writes[fmt::format("l{:03}", i)] = std::string(10'000, 'v');
  ASSERT_EQ(write(writes), "ok");
  const LmdbFile::Size full = file_->measure().value();
  EXPECT_LT(full.free_bytes, kOwnPages * file_->page_bytes());
  expect_sum(full);
  WriteSet erased = writes;
  for (auto& [key, value] : erased) value = std::nullopt;
  ASSERT_EQ(write(erased), "ok");
  const LmdbFile::Size empty = file_->measure().value();
  EXPECT_EQ(empty.used_bytes, 0U);
  EXPECT_GE(empty.free_bytes, full.used_bytes);
  expect_sum(empty);
  ASSERT_EQ(write({{"mkey", "value"}}), "ok");  // now no version has the freed pages
  ASSERT_EQ(write(writes), "ok");
  const LmdbFile::Size again = file_->measure().value();
  expect_sum(again);
  EXPECT_LE(again.end_bytes, empty.end_bytes + kOwnPages * file_->page_bytes())
      << "the free pages are used again";
  for (const bool to_read : {true, false}) {
    to_read ? open_to_read() : open();
    EXPECT_EQ(file_->measure()->free_bytes, again.free_bytes);
    EXPECT_EQ(file_->measure()->end_bytes, again.end_bytes);
  }
}

TEST_F(LmdbFileTest, AllocatesBlocksInAdvance) {
  const uint64_t end = file_->measure()->end_bytes;
  EXPECT_TRUE(file_->allocate(end, end + (1 << 20)));
  EXPECT_GE(std::filesystem::file_size(path()), end + (1 << 20));
  FileFaults::arm(FileFault::kFull, 1);
  EXPECT_EQ(write({{"lkey", "value"}}), "ok") << "the blocks are allocated";
  const Status full = file_->allocate(end + (1 << 20), end + (2 << 20));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, "store.full");
  EXPECT_THAT(full.error().message, HasSubstr("reserving space in "));
}

TEST_F(LmdbFileTest, ChecksItsPagesWhileAReaderIsOpen) {
  ASSERT_EQ(write({{"lkey", std::string(10'000, 'v')}}), "ok");
  LmdbReader reader(*file_);
  ASSERT_TRUE(reader.begin());
  ASSERT_EQ(write({{"lkey", std::nullopt}}), "ok");
  const auto report = file_->check_pages({});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->count, 0U);
  EXPECT_GT(report->pages, 0U);
  EXPECT_EQ(reader.get(Table::kLive, "key")->size(), 10'000U);
}

}  // namespace
}  // namespace millrace
