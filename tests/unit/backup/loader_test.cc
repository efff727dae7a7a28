// The loader: chunks become the rows of a store, in bounded batches.
#include "orchestrator/backup/loader.h"

#include "orchestrator/store/disk/write_set.h"
#include "tests/unit/backup/backup_fixture.h"

namespace millrace {
namespace {

class LoaderTest : public BackupTest {
 protected:
  /// A second store, with the key in that file; empty: with a key of its own.
  std::unique_ptr<Environment> open_other(const std::filesystem::path& key) const {
    return Environment::open(folder.path() / "other", {.key_file = key}).value();
  }
};

TEST_F(LoaderTest, WritesEachRowOfEachTableAsItWas) {
  fill_tables();
  const auto other = open_other(key_file());
  {
    Transaction to(*other);
    BackupLoader loader(to);
    const Snapshot view = Snapshot::take(*environment).value();
    for (const BackupChunk& chunk : chunks_of(view, 100)) ASSERT_TRUE(loader.add(chunk.bytes));
    ASSERT_TRUE(loader.finish());
    EXPECT_EQ(loader.rows().size(), kTables.size());
    EXPECT_EQ(sum_of(loader.rows()), 4 * kTables.size());
  }
  const Snapshot made = Snapshot::take(*other).value();
  EXPECT_EQ(all_rows(made), committed_rows());
  const auto opened = rows::read_text(made, Table::kSecrets, "sealed");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(*opened, "secret of secrets");
}

TEST_F(LoaderTest, CommitsInBatchesOfABoundedSize) {
  const auto other = open_other("");
  Transaction to(*other);
  BackupLoader loader(to);
  constexpr uint64_t kChunks = 20;
  for (uint64_t n = 0; n < kChunks; ++n) {
    std::string chunk;
    append_write(chunk, fmt::format("v{:02}", n), std::string(1 << 20, 'v'));
    ASSERT_TRUE(loader.add(chunk));
    EXPECT_LE(to.write_set().size(), BackupLoader::kBatchBytes >> 20);
  }
  ASSERT_TRUE(loader.finish());
  EXPECT_EQ(Snapshot::take(*other).value().commit(), kChunks / 4);
  EXPECT_EQ(loader.rows(), (RowCounts{{"variables", kChunks}}));
}

TEST_F(LoaderTest, RefusesAChunkThatDoesNotFollowTheOneBefore) {
  Transaction& to = *tx;
  BackupLoader loader(to);
  std::string later;
  append_write(later, "vb", "1");
  std::string earlier;
  append_write(earlier, "va", "1");
  ASSERT_TRUE(loader.add(later));
  EXPECT_EQ(code_of(loader.add(earlier)), kBackupDamaged);
  EXPECT_EQ(code_of(loader.add("x")), kBackupDamaged);
}

}  // namespace
}  // namespace millrace
