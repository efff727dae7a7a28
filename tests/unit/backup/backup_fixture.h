// BackupTest: the fixture for the parts of a backup, with an open store that a test fills, and
// helpers that make and read chunks.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/backup/backup_folder.h"
#include "orchestrator/backup/backup_head.h"
#include "orchestrator/backup/backup_writer.h"
#include "orchestrator/backup/chunk.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/identity.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/stream_rows.h"
#include "tests/support/all_rows.h"
#include "tests/support/folder.h"
#include "tests/support/index.h"

namespace millrace {

/// All chunks of a view, from its first row to its last.
inline std::vector<BackupChunk> chunks_of(const View& view, size_t most_bytes = kBackupChunkBytes) {
  std::vector<BackupChunk> chunks;
  std::string after;
  while (true) {
    auto chunk = read_chunk(view, after, most_bytes);
    EXPECT_TRUE(chunk) << chunk.error().message;
    if (!chunk || chunk->bytes.empty()) return chunks;
    after = chunk->last_key;
    chunks.push_back(*std::move(chunk));
  }
}

class BackupTest : public testing::Test {
 protected:
  BackupTest() {
    auto opened = Environment::open(data());
    EXPECT_TRUE(opened) << opened.error().message;
    environment = std::move(*opened);
    tx.emplace(*environment);
  }

  std::filesystem::path data() const { return folder.path() / "data"; }
  std::filesystem::path key_file() const { return data() / "secret-key"; }

  void commit() {
    const Status done = tx->commit();
    ASSERT_TRUE(done) << done.error().message;
  }

  /// Writes rows into each table; the last row of each table is sealed. These rows are not rows
  /// that millrace writes.
  void fill_tables() {
    ASSERT_TRUE(environment->keep_key());
    for (const TableName& one : kTables) {
      tx->put(one.table, "a", "");
      tx->put(one.table, std::string("k\0\xff", 3), std::string("\0\xff", 2));
      tx->put(one.table, "long", std::string(300, 'v'));
      rows::put(*tx, one.table, "sealed", fmt::format("secret of {}", one.name), true);
    }
    commit();
  }

  /// Makes the store a small sound one, with an identity, a namespace and a sealed row.
  void make_sound() {
    tx.reset();
    identity = identify(*environment, [] { return std::array<uint8_t, 16>{1, 2, 3}; }).value();
    tx.emplace(*environment);
    const TimePoint time = from_millis(1'630'497'600'000);
    write_namespace(*tx, "default", {.number = NamespaceNumber(1), .created_at = time});
    write_counter(*tx, Counter::kNamespace, 9);  // eight other namespaces were deleted
    write_engine_time(*tx, time);
    write_cursor(*tx, {.stream_created = 7, .sequence = 3, .stamped = time});
    EXPECT_TRUE(number_stream(*tx, 7));
    write_secret(*tx, NamespaceNumber(1), "card", "4711");
    build_index(*tx);
    commit();
  }

  /// Writes a backup of the last commit; `most_bytes` as in read_chunk().
  BackupManifest write_backup(BackupTarget& target, size_t most_bytes = kBackupChunkBytes) {
    const Snapshot view = Snapshot::take(*environment).value();
    BackupWriter writer(
        target,
        make_backup_head(*environment, view, from_millis(1'630'497'600'000), "test").value());
    EXPECT_TRUE(writer.begin());
    for (const BackupChunk& chunk : chunks_of(view, most_bytes))
      EXPECT_TRUE(writer.add(chunk.bytes));
    EXPECT_TRUE(writer.finish());
    return writer.manifest();
  }
  BackupManifest write_folder(const std::filesystem::path& path,
                              size_t most_bytes = kBackupChunkBytes) {
    auto target = BackupFolderTarget::make(path);
    EXPECT_TRUE(target) << target.error().message;
    return write_backup(*target, most_bytes);
  }

  RowsByKey committed_rows() { return all_rows(Snapshot::take(*environment).value()); }

  Folder folder;
  std::unique_ptr<Environment> environment;
  std::optional<Transaction> tx;
  StoreIdentity identity;  ///< after make_sound()
};

/// The code of the error; empty: there is none.
template <class T>
std::string code_of(const Result<T>& result) {
  return result ? std::string() : result.error().code;
}

}  // namespace millrace
