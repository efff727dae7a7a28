// Restoring: the store that is made from a backup, and what remains if it cannot be made.
#include "orchestrator/backup/restore.h"

#include <fstream>

#include "orchestrator/store/disk/log_row.h"
#include "tests/support/file_bytes.h"
#include "tests/unit/backup/backup_fixture.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Key;
using testing::UnorderedElementsAre;

class RestoreTest : public BackupTest {
 protected:
  RestoreTest() { make_sound(); }

  fs::path backup() const { return folder.path() / "backup"; }
  fs::path restored() const { return folder.path() / "restored"; }
  fs::path partial() const { return folder.path() / "restored.partial"; }

  RestoreSettings settings() const { return {.folder = restored(), .key_file = key_file()}; }

  Result<Restored> restore(const RestoreSettings& with) const {
    BackupFolderSource source = TRY(BackupFolderSource::open(backup()));
    return restore_backup(source, with);
  }
  /// Restores the backup, which must be possible, and opens the store.
  std::unique_ptr<Environment> restored_store(const RestoreSettings& with) const {
    const auto made = restore(with);
    EXPECT_TRUE(made) << made.error().message;
    EXPECT_TRUE(made && made->report.sound());
    EXPECT_FALSE(fs::exists(partial()));
    return Environment::open(restored(), {.key_file = with.key_file}).value();
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder.path())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  static void write(const fs::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
};

TEST_F(RestoreTest, MakesAStoreWithTheSameRows) {
  write_folder(backup(), 100);
  uint64_t loaded = 0;
  RestoreSettings with = settings();
  with.on_loaded = [&](uint64_t rows) { loaded = rows; };
  const auto made = restored_store(with);
  const Snapshot view = Snapshot::take(*made).value();
  EXPECT_EQ(all_rows(view), committed_rows());
  EXPECT_EQ(loaded, committed_rows().size());
  EXPECT_EQ(read_secret(view, NamespaceNumber(1), "card").value(), "4711");
  EXPECT_EQ(fs::status(restored()).permissions(), fs::perms::owner_all);
}

TEST_F(RestoreTest, MakesTheStoreOfAServerWithoutAClusterFromThatOfANode) {
  write_store_identity(*tx, {.id = {9}, .folder = cluster_mark("shop")});
  tx->put(Table::kMeta, kLogKey, encode(base_position({1}, {2})));
  commit();
  write_folder(backup());
  for (const bool takes_over : {false, true}) {
    RestoreSettings with = settings();
    with.takes_over = takes_over;
    {
      const auto made = restored_store(with);
      Transaction opened(*made);
      EXPECT_TRUE(check_known_format(opened)) << "it belongs to no cluster";
      EXPECT_TRUE(check_store_of_cluster(opened, "shop2")) << "and may found one";
      const StoreIdentity found = read_store_identity(opened).value().value();
      EXPECT_EQ(found.folder, takes_over ? made->mark().value() : cluster_mark("shop"));
    }
    fs::remove_all(restored());
  }
}

TEST_F(RestoreTest, ReplacesAnEmptyFolderAndMakesTheFoldersAboveIt) {
  write_folder(backup());
  fs::create_directory(restored());
  EXPECT_TRUE(restore(settings()));
  RestoreSettings deep = settings();
  deep.folder = folder.path() / "a" / "b" / "";
  const auto made = restore(deep);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->folder.filename(), "b");
  EXPECT_TRUE(fs::exists(folder.path() / "a" / "b" / "data.mdb"));
}

TEST_F(RestoreTest, ChangesNoFolderThatIsNotEmpty) {
  write_folder(backup());
  fs::create_directory(restored());
  write(restored() / "file", "x");
  EXPECT_EQ(code_of(restore(settings())), "restore.not_empty");
  EXPECT_EQ(file_bytes(restored() / "file"), "x");
  EXPECT_FALSE(fs::exists(partial()));
  RestoreSettings with = settings();
  with.folder = restored() / "file";
  EXPECT_EQ(code_of(restore(with)), "restore.not_empty");
}

TEST_F(RestoreTest, NeedsTheKeyOfTheStoreBeforeItWritesAnything) {
  write_folder(backup());
  RestoreSettings with = settings();
  with.key_file.clear();
  const auto missing = restore(with);
  EXPECT_EQ(code_of(missing), "store.key");
  EXPECT_THAT(missing.error().message, HasSubstr("--secret-key-file"));
  with.key_file = folder.path() / "other-key";
  write(with.key_file, std::string(64, 'a'));
  const auto wrong = restore(with);
  EXPECT_EQ(code_of(wrong), "store.key");
  EXPECT_THAT(wrong.error().message, HasSubstr(with.key_file.string()));
  EXPECT_THAT(files(), UnorderedElementsAre("backup", "data", "other-key"));
}

TEST_F(RestoreTest, LeavesTheKeyInItsFileOrCopiesIt) {
  write_folder(backup());
  restored_store(settings());
  EXPECT_FALSE(fs::exists(restored() / "secret-key"));
  fs::remove_all(restored());
  RestoreSettings with = settings();
  with.copies_key = true;
  restored_store(with);
  EXPECT_EQ(file_bytes(restored() / "secret-key"), file_bytes(key_file()));
  EXPECT_EQ(fs::status(restored() / "secret-key").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(RestoreTest, GivesTheStoreANewIdUnlessItTakesOver) {
  write_folder(backup());
  const auto other_id = [] { return std::array<uint8_t, 16>{9}; };
  const StoreIdentity other = identify(*restored_store(settings()), other_id).value();
  EXPECT_EQ(other.id[0], 9);
  fs::remove_all(restored());
  RestoreSettings with = settings();
  with.takes_over = true;
  const auto made = restored_store(with);
  const StoreIdentity kept = identify(*made, other_id).value();
  EXPECT_EQ(kept.id, identity.id);
  EXPECT_EQ(kept.folder, made->mark().value()) << "the mark of the folder after the rename";
  EXPECT_NE(kept.folder, identity.folder);
}

TEST_F(RestoreTest, RemovesWhatAnInterruptedRestoreLeft) {
  write_folder(backup());
  fs::create_directories(partial() / "tasks");
  write(partial() / "data.mdb", "half a file");
  write(partial() / "lock", "");
  restored_store(settings());
  EXPECT_FALSE(fs::exists(restored() / "tasks"));
}

TEST_F(RestoreTest, DoesNotDisturbAnotherRestoreIntoTheSameFolder) {
  write_folder(backup());
  const auto other = Environment::open(partial()).value();
  EXPECT_EQ(code_of(restore(settings())), "store.locked");
  EXPECT_TRUE(fs::exists(partial() / "data.mdb"));
}

TEST_F(RestoreTest, MakesNoFolderIfTheStoreHasFindings) {
  write_secret(*tx, NamespaceNumber(7), "orphan", "x");
  commit();
  write_folder(backup());
  const auto made = restore(settings());
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(made->report.codes, UnorderedElementsAre(Key("namespace.missing")));
  EXPECT_THAT(files(), UnorderedElementsAre("backup", "data"));
  RestoreSettings with = settings();
  with.keeps_failed = true;
  EXPECT_FALSE(restore(with).value().report.sound());
  EXPECT_THAT(files(), UnorderedElementsAre("backup", "data", "restored.partial"));
}

/// A source whose last chunk is damaged, which becomes known only at the end, as with a tar stream.
class DamagedSource final : public BackupSource {
 public:
  explicit DamagedSource(BackupFolderSource source) : source_(std::move(source)) {}

  const BackupHead& head() const override { return source_.head(); }
  const BackupManifest& manifest() const override { return source_.manifest(); }
  Result<std::optional<std::string>> next_chunk() override {
    auto chunk = TRY(source_.next_chunk());
    if (!chunk) return fail(std::string(kBackupDamaged), "a hash differs");
    return chunk;
  }

 private:
  BackupFolderSource source_;
};

TEST_F(RestoreTest, MakesNoFolderIfTheBackupTurnsOutToBeDamagedAtItsEnd) {
  write_folder(backup());
  DamagedSource source(BackupFolderSource::open(backup()).value());
  EXPECT_EQ(code_of(restore_backup(source, settings())), kBackupDamaged);
  EXPECT_THAT(files(), UnorderedElementsAre("backup", "data"));
}

TEST_F(RestoreTest, RefusesABackupWithOtherRowsThanItsManifestLists) {
  BackupManifest manifest = write_folder(backup());
  manifest.rows["live"] += 1;
  write(backup() / "manifest.json", encode(manifest));
  EXPECT_EQ(code_of(restore(settings())), kBackupDamaged);
  EXPECT_THAT(files(), UnorderedElementsAre("backup", "data"));
}

}  // namespace
}  // namespace millrace
