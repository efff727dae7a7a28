// A backup of a store with rows of all kinds, and the store that is restored from it.
#include <filesystem>

#include <gmock/gmock.h>

#include "orchestrator/backup/backup_folder.h"
#include "orchestrator/backup/backup_writer.h"
#include "orchestrator/backup/restore.h"
#include "tests/simulation/rich_store.h"
#include "tests/simulation/store_damage.h"
#include "tests/support/store_check.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

class RestoredStore : public testing::Test {
 protected:
  RestoredStore() {
    fs::copy(RichStore::instance().folder(), original(), fs::copy_options::recursive);
  }

  fs::path original() const { return folder_.path() / "original"; }
  fs::path restored() const { return folder_.path() / "restored"; }
  fs::path key_file() const { return original() / "secret-key"; }

  /// Every row of the store in that folder, by its absolute key.
  std::map<std::string, std::string> rows_in(const fs::path& path) const {
    const auto environment =
        Environment::open(path, {.key_file = key_file(), .read_only = true}).value();
    const Snapshot view = Snapshot::take(*environment).value();
    std::map<std::string, std::string> rows;
    for (const TableName& one : kTables) {
      view.scan(one.table, "", [&](std::string_view key, std::string_view value) {
        rows.emplace(AbsoluteKey(one.table, key).view(), value);
        return true;
      });
    }
    EXPECT_TRUE(view.status());
    return rows;
  }

  /// Writes a backup of the original store, in chunks of that size.
  void back_up(size_t most_bytes) const {
    const auto environment = Environment::open(original(), {.read_only = true}).value();
    const Snapshot view = Snapshot::take(*environment).value();
    auto target = BackupFolderTarget::make(folder_.path() / "backup").value();
    BackupWriter writer(target, read_backup_head(view, view.commit()).value());
    ASSERT_TRUE(writer.begin());
    std::string after;
    while (true) {
      const BackupChunk chunk = read_chunk(view, after, most_bytes).value();
      if (chunk.bytes.empty()) break;
      ASSERT_TRUE(writer.add(chunk.bytes));
      after = chunk.last_key;
    }
    ASSERT_TRUE(writer.finish());
  }

  StoreReport restore() const {
    auto source = BackupFolderSource::open(folder_.path() / "backup").value();
    const auto made = restore_backup(
        source, {.folder = restored(), .key_file = key_file(), .check = test_check_options()});
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->report : StoreReport();
  }

  Folder folder_;
};

TEST_F(RestoredStore, HasEachRowOfEachKindSealedRowsIncluded) {
  const auto rows = rows_in(original());
  size_t sealed = 0;
  for (const auto& [key, value] : rows) {
    if (table_of(key) != Table::kDedupe && Seal::is_sealed(value)) ++sealed;
  }
  EXPECT_GT(sealed, 3U);
  for (const size_t most : {size_t{1}, size_t{1'000}, kBackupChunkBytes}) {
    back_up(most);
    const StoreReport report = restore();
    EXPECT_TRUE(report.sound()) << lines_of(report);
    EXPECT_EQ(report.unreadable, 0U);
    EXPECT_EQ(rows_in(restored()) == rows, true) << most;
    fs::remove_all(restored());
    fs::remove_all(folder_.path() / "backup");
  }
}

}  // namespace
}  // namespace millrace
