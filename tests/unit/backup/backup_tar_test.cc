// Backups as tar streams: the order of their files, and streams that are incomplete or mixed up.
#include "orchestrator/backup/backup_tar.h"

#include <sstream>

#include "tests/unit/backup/backup_fixture.h"

namespace millrace {
namespace {

using testing::HasSubstr;

/// The files of a backup, in memory.
class FileList final : public BackupTarget {
 public:
  Status write(std::string_view name, std::string_view bytes) override {
    files.emplace_back(name, bytes);
    return {};
  }
  Status finish() override { return {}; }

  std::vector<std::pair<std::string, std::string>> files;
};

class BackupTarTest : public BackupTest {
 protected:
  /// The files of a backup with several chunks.
  FileList some_files() {
    make_sound();
    FileList list;
    write_backup(list, 100);
    EXPECT_GT(list.files.size(), 4U);
    return list;
  }
  static std::string archive_of(const FileList& list) {
    std::ostringstream out;
    BackupTarTarget target(out);
    for (const auto& [name, bytes] : list.files) EXPECT_TRUE(target.write(name, bytes));
    EXPECT_TRUE(target.finish());
    return out.str();
  }
  /// Reads the whole stream; returns its chunks, or the first error.
  static Result<std::vector<std::string>> read(const std::string& bytes) {
    std::istringstream in(bytes);
    const auto source = TRY(BackupTarSource::open(in));
    std::vector<std::string> chunks;
    while (auto chunk = TRY(source->next_chunk())) chunks.push_back(*std::move(chunk));
    EXPECT_EQ(source->manifest().chunks.size(), chunks.size());
    EXPECT_EQ(source->manifest().head, source->head());
    return chunks;
  }
};

TEST_F(BackupTarTest, GivesTheChunksInTheirOrder) {
  const FileList list = some_files();
  const auto chunks = read(archive_of(list));
  ASSERT_TRUE(chunks) << chunks.error().message;
  ASSERT_EQ(chunks->size(), list.files.size() - 2);
  for (size_t i = 0; i < chunks->size(); ++i) EXPECT_EQ((*chunks)[i], list.files[i + 1].second);
}

TEST_F(BackupTarTest, IsIncompleteWithoutItsManifest) {
  FileList list = some_files();
  list.files.pop_back();
  EXPECT_EQ(code_of(read(archive_of(list))), "backup.incomplete");
  list.files.resize(1);
  EXPECT_EQ(code_of(read(archive_of(list))), "backup.incomplete");
  list.files.clear();
  EXPECT_EQ(code_of(read(archive_of(list))), "backup.incomplete");
}

TEST_F(BackupTarTest, IsRefusedIfItIsCutBeforeTheEndOfItsManifest) {
  const FileList list = some_files();
  const std::string whole = archive_of(list);
  const size_t manifest_end =
      whole.rfind(list.files.back().second) + list.files.back().second.size();
  for (size_t size = 0; size < manifest_end; size += 512) {
    const std::string code = code_of(read(whole.substr(0, size)));
    EXPECT_TRUE(code == "backup.incomplete" || code == "backup.read") << size << ": " << code;
  }
}

TEST_F(BackupTarTest, IsRefusedIfItsFilesAreMixedUp) {
  const FileList whole = some_files();
  FileList list = whole;
  std::swap(list.files[0], list.files[1]);
  const auto no_head = read(archive_of(list));
  EXPECT_EQ(code_of(no_head), kBackupDamaged);
  EXPECT_THAT(no_head.error().message, HasSubstr("tar --sort=name"));
  list = whole;
  std::swap(list.files[1], list.files[2]);
  EXPECT_EQ(code_of(read(archive_of(list))), kBackupDamaged);
  list = whole;
  std::swap(list.files[1].second, list.files[2].second);
  EXPECT_EQ(code_of(read(archive_of(list))), kBackupDamaged) << "the hashes are exchanged";
  list = whole;
  list.files.erase(list.files.end() - 2);
  EXPECT_EQ(code_of(read(archive_of(list))), kBackupDamaged) << "the last chunk is missing";
}

TEST_F(BackupTarTest, IsRefusedAtOnceIfItIsOfANewerStore) {
  FileList list = some_files();
  Json head = Json::parse(list.files[0].second);
  head["format"] = kStoreFormat + 1;
  list.files[0].second = dump_json(head);
  std::istringstream in(archive_of(list));
  EXPECT_EQ(code_of(BackupTarSource::open(in)), "store.version");
}

TEST_F(BackupTarTest, IsRefusedIfItsHeadDiffersFromItsManifest) {
  FileList list = some_files();
  Json head = Json::parse(list.files[0].second);
  head["commit"] = 1'000;
  list.files[0].second = dump_json(head);
  EXPECT_EQ(code_of(read(archive_of(list))), kBackupDamaged);
}

}  // namespace
}  // namespace millrace
