// Backups in folders: what a folder has when, and which folders are refused.
#include "orchestrator/backup/backup_folder.h"

#include <fstream>

#include "tests/support/file_bytes.h"
#include "tests/unit/backup/backup_fixture.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;
using testing::UnorderedElementsAre;

class BackupFolderTest : public BackupTest {
 protected:
  fs::path to() const { return folder.path() / "backup"; }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(to())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
  static void write(const fs::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  /// The code of the error with which the backup is refused; empty: it is whole.
  std::string refusal() const { return code_of(BackupFolderSource::open(to())); }
};

TEST_F(BackupFolderTest, HasAFileForTheHeadForEachChunkAndForTheManifest) {
  make_sound();
  const BackupManifest manifest = write_folder(to(), 100);
  ASSERT_GT(manifest.chunks.size(), 2U);
  EXPECT_EQ(files().size(), manifest.chunks.size() + 2);
  auto source = BackupFolderSource::open(to());
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ(source->manifest(), manifest);
  EXPECT_EQ(source->head(), manifest.head);
  size_t chunks = 0;
  while (const auto chunk = source->next_chunk().value()) {
    EXPECT_EQ(entry_of(*chunk), manifest.chunks.at(chunks++));
  }
  EXPECT_EQ(chunks, manifest.chunks.size());
}

TEST_F(BackupFolderTest, HasNoManifestUntilItsLastChunkIsWritten) {
  make_sound();
  auto target = BackupFolderTarget::make(to()).value();
  const Snapshot view = Snapshot::take(*environment).value();
  BackupWriter writer(target, read_backup_head(view, view.commit()).value());
  ASSERT_TRUE(writer.begin());
  EXPECT_EQ(refusal(), "backup.incomplete");
  ASSERT_TRUE(writer.add(read_chunk(view, "").value().bytes));
  EXPECT_THAT(files(), UnorderedElementsAre("backup.json", "chunk-000001"));
  EXPECT_EQ(refusal(), "backup.incomplete");
  ASSERT_TRUE(writer.finish());
  EXPECT_THAT(files(), UnorderedElementsAre("backup.json", "chunk-000001", "manifest.json"));
  EXPECT_EQ(refusal(), "");
}

TEST_F(BackupFolderTest, IsWrittenIntoAnEmptyFolderOnly) {
  make_sound();
  fs::create_directory(to());
  EXPECT_TRUE(BackupFolderTarget::make(to()));
  write(to() / "other", "x");
  EXPECT_EQ(code_of(BackupFolderTarget::make(to())), "backup.not_empty");
  EXPECT_EQ(code_of(BackupFolderTarget::make(to() / "other")), "backup.not_empty");
  EXPECT_EQ(code_of(BackupFolderTarget::make(to() / "missing" / "b")), "backup.write");
}

TEST_F(BackupFolderTest, IsMissingIfThePathIsNotTheFolderOfABackup) {
  const auto why = [&](const fs::path& path) {
    const auto opened = BackupFolderSource::open(path);
    EXPECT_EQ(code_of(opened), "backup.missing") << path;
    return opened ? "" : opened.error().message;
  };
  EXPECT_THAT(why(to()),
              HasSubstr("\"" + to().string() + "\" is not a backup: it does not exist; name "));
  EXPECT_THAT(why(""), StartsWith("\"\" is not a backup: it does not exist; name "));
  fs::create_directory(to());
  EXPECT_THAT(why(to()), HasSubstr("it is an empty folder"));
  write(to() / "other", "x");
  EXPECT_THAT(why(to()), HasSubstr("neither the file backup.json nor the file manifest.json"));
  EXPECT_THAT(why(to() / "other"),
              HasSubstr("`millrace restore - < " + (to() / "other").string() + "`"));
  EXPECT_THAT(why(to() / "other" / "within"), HasSubstr("it does not exist"));
  write(to() / "backup.json", "{}");
  EXPECT_EQ(refusal(), "backup.incomplete");
}

TEST_F(BackupFolderTest, IsRefusedIfAChunkIsMissingCutOrChanged) {
  make_sound();
  write_folder(to(), 100);
  const fs::path chunk = to() / "chunk-000002";
  const std::string bytes = file_bytes(chunk);
  ASSERT_FALSE(bytes.empty());
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    write(chunk, changed);
    EXPECT_EQ(refusal(), kBackupDamaged) << at;
    write(chunk, bytes.substr(0, at));
    EXPECT_EQ(refusal(), kBackupDamaged) << at;
  }
  fs::remove(chunk);
  const auto missing = BackupFolderSource::open(to());
  EXPECT_EQ(code_of(missing), kBackupDamaged);
  EXPECT_THAT(missing.error().message, HasSubstr(chunk.string()));
  write(chunk, bytes);
  EXPECT_EQ(refusal(), "");
}

TEST_F(BackupFolderTest, IsRefusedIfTheManifestIsCutOrTheHeadIsMissingOrDiffers) {
  make_sound();
  write_folder(to());
  const std::string manifest = file_bytes(to() / "manifest.json");
  write(to() / "manifest.json", manifest.substr(0, manifest.size() / 2));
  EXPECT_EQ(refusal(), kBackupDamaged);
  write(to() / "manifest.json", manifest);
  const std::string head = file_bytes(to() / "backup.json");
  Json other = Json::parse(head);
  other["commit"] = other["commit"].get<uint64_t>() + 1;
  write(to() / "backup.json", dump_json(other));
  EXPECT_EQ(refusal(), kBackupDamaged);
  fs::remove(to() / "backup.json");
  EXPECT_EQ(refusal(), kBackupDamaged);
  write(to() / "backup.json", head);
  EXPECT_EQ(refusal(), "");
}

TEST_F(BackupFolderTest, ChecksAChunkAgainWhenItIsRead) {
  make_sound();
  write_folder(to());
  auto source = BackupFolderSource::open(to());
  ASSERT_TRUE(source);
  write(to() / "chunk-000001", "changed meanwhile");
  EXPECT_EQ(code_of(source->next_chunk()), kBackupDamaged);
}

}  // namespace
}  // namespace millrace
