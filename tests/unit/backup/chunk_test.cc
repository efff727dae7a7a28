// Chunks: which rows they have, in which order and size, and which bytes are refused.
#include "orchestrator/backup/chunk.h"

#include "orchestrator/store/disk/write_set.h"
#include "tests/unit/backup/backup_fixture.h"
#include "tests/unit/support/faulty_store.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class ChunkTest : public BackupTest {};

/// The rows of the chunks, in order.
std::vector<std::pair<std::string, std::string>> listed(const std::vector<BackupChunk>& chunks) {
  std::vector<std::pair<std::string, std::string>> rows;
  std::string last;
  for (const BackupChunk& chunk : chunks) {
    const auto read = each_row_of_chunk(
        chunk.bytes, last, [&](Table table, std::string_view key, std::string_view value) {
          rows.emplace_back(AbsoluteKey(table, key).view(), value);
        });
    EXPECT_TRUE(read) << read.error().message;
    last = read.value_or("");
    EXPECT_EQ(last, chunk.last_key);
  }
  return rows;
}

RowsByKey to_rows(const std::vector<std::pair<std::string, std::string>>& rows) {
  RowsByKey all;
  for (const auto& [key, value] : rows) {
    all.emplace(std::pair(table_of(key), std::string(key_of(key))), value);
  }
  return all;
}

TEST_F(ChunkTest, HaveEachRowOfEachTableOnceInTheOrderOfTheAbsoluteKeys) {
  fill_tables();
  const Snapshot view = Snapshot::take(*environment).value();
  const RowsByKey stored = all_rows(view);
  ASSERT_THAT(stored, SizeIs(4 * kTables.size()));
  for (const size_t most : {size_t{1}, size_t{100}, size_t{1'000}, kBackupChunkBytes}) {
    const auto rows = listed(chunks_of(view, most));
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end())) << most;
    EXPECT_THAT(rows, SizeIs(stored.size())) << most;
    EXPECT_EQ(to_rows(rows), stored) << most;
  }
  EXPECT_THAT(chunks_of(view), SizeIs(1));
}

TEST_F(ChunkTest, HaveAtMostTheGivenSizeUnlessARowIsLarger) {
  fill_tables();
  constexpr size_t kMost = 200;
  const Snapshot view = Snapshot::take(*environment).value();
  size_t larger = 0;
  for (const BackupChunk& chunk : chunks_of(view, kMost)) {
    if (chunk.bytes.size() <= kMost) continue;
    ++larger;
    EXPECT_THAT(listed({chunk}),
                ElementsAre(testing::Pair(testing::EndsWith("long"), SizeIs(300))));
  }
  EXPECT_EQ(larger, kTables.size());
}

TEST_F(ChunkTest, EndWithAnEmptyChunk) {
  const Snapshot empty = Snapshot::take(*environment).value();
  EXPECT_EQ(read_chunk(empty, "").value().bytes, "");
  fill_tables();
  const Snapshot view = Snapshot::take(*environment).value();
  const BackupChunk last = read_chunk(view, "").value();
  const BackupChunk end = read_chunk(view, last.last_key).value();
  EXPECT_EQ(end.bytes, "");
  EXPECT_EQ(end.last_key, last.last_key);
}

TEST_F(ChunkTest, ShowOneCommitWhileOtherCommitsAndCheckpointsFollow) {
  fill_tables();
  const Snapshot view = Snapshot::take(*environment).value();
  const RowsByKey before = all_rows(view);
  std::vector<BackupChunk> chunks;
  std::string after;
  for (int n = 0;; ++n) {
    BackupChunk chunk = read_chunk(view, after, 400).value();
    if (chunk.bytes.empty()) break;
    after = chunk.last_key;
    chunks.push_back(std::move(chunk));
    for (const TableName& one : kTables) {
      tx->put(one.table, "a", std::to_string(n));
      tx->put(one.table, fmt::format("new {}", n), "row");
      tx->erase(one.table, "long");
    }
    commit();
    if (n % 3 == 0) {
      ASSERT_TRUE(environment->checkpoint());
    }
  }
  EXPECT_GT(chunks.size(), 6U);
  EXPECT_EQ(to_rows(listed(chunks)), before);
}

TEST_F(ChunkTest, MayBeReadFromALaterViewFromAPositionOnAlsoIfItsRowIsErased) {
  fill_tables();
  const BackupChunk first = read_chunk(Snapshot::take(*environment).value(), "", 400).value();
  const std::string next = first.last_key + "+";
  tx->put(table_of(next), key_of(next), "later");
  tx->erase(table_of(first.last_key), key_of(first.last_key));
  commit();
  const Snapshot later = Snapshot::take(*environment).value();
  const BackupChunk second = read_chunk(later, first.last_key, 1).value();
  EXPECT_EQ(second.last_key, next);
}

TEST_F(ChunkTest, LeaveOutTheRowsOfTheFolderOfANode) {
  fill_tables();
  const RowsByKey before = committed_rows();
  tx->put(Table::kMeta, "log", "position");
  tx->put(Table::kMeta, "loading", "position");
  commit();
  const Snapshot view = Snapshot::take(*environment).value();
  for (const size_t most : {size_t{1}, kBackupChunkBytes}) {
    EXPECT_EQ(to_rows(listed(chunks_of(view, most))), before) << most;
  }
}

class ChunkFaultTest : public FaultyStoreTest {};

TEST_F(ChunkFaultTest, AreNotReturnedIfAReadFails) {
  for (const TableName& one : kTables) tx->put(one.table, "a", "value");
  commit();
  const uint64_t reads = fail_each_read(
      [&]() -> Status {
        const Snapshot view = TRY(Snapshot::take(*environment));
        TRY(read_chunk(view, ""));
        return {};
      },
      [] {});
  EXPECT_EQ(reads, kTables.size());
}

std::string write_of(std::string_view key, std::optional<std::string_view> value) {
  std::string bytes;
  append_write(bytes, key, value);
  return bytes;
}

TEST(ChunkBytes, AreRefusedUnlessTheyArePutsOfAscendingKeysOfKnownTables) {
  struct Row {
    std::string bytes;
    std::string after;
    std::string why;  ///< empty: the bytes are a chunk
  };
  const Row rows[] = {
      {"", "", ""},
      {write_of("ma", "1") + write_of("mb", "2"), "", ""},
      {write_of("ma", "1"), "m", ""},
      {write_of("ma", "1"), "ma", "do not ascend"},
      {write_of("mb", "1") + write_of("ma", "2"), "", "do not ascend"},
      {write_of("ma", "1") + write_of("ma", "1"), "", "do not ascend"},
      {write_of("ma", std::nullopt), "", "no value"},
      {write_of("mlog", "1"), "", "only the folder of a node"},
      {write_of("mloading", "1"), "", "only the folder of a node"},
      {write_of("mlogs", "1"), "", ""},
      {write_of("Za", "1"), "", "byte 90"},
      {write_of("\xff"
                "a",
                "1"),
       "", "byte 255"},
      {write_of("m", "1"), "", "1 bytes, expected 2 to 512"},
      {write_of("m" + std::string(512, 'k'), "1"), "", "513 bytes, expected 2 to 512"},
      {write_of("ma", "1").substr(0, 4), "", "not a write-set"},
      {write_of("ma", "1") + "x", "", "not a write-set"},
  };
  for (const Row& row : rows) {
    const auto read = each_row_of_chunk(row.bytes, row.after, [](Table, auto, auto) {});
    EXPECT_EQ(read.has_value(), row.why.empty()) << testing::PrintToString(row.bytes);
    if (read) continue;
    EXPECT_EQ(read.error().code, kBackupDamaged);
    EXPECT_THAT(read.error().message, HasSubstr(row.why));
  }
}

// The expected hashes are those of another implementation: Python's
// hashlib.blake2b(digest_size=32).
TEST(ChunkHash, IsBlake2bOf256Bits) {
  EXPECT_EQ(chunk_hash(""), "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  EXPECT_EQ(chunk_hash("abc"), "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

}  // namespace
}  // namespace millrace
