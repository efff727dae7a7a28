// The names of the files of a backup, and the comparison of a chunk with the manifest.
#include "orchestrator/backup/backup_files.h"

#include <gtest/gtest.h>

#include "tests/unit/backup/backup_fixture.h"

namespace millrace {
namespace {

TEST(BackupFiles, HaveNamesThatSortInTheirOrder) {
  const std::vector<std::string> names = {std::string(kBackupHeadFile), chunk_file(1),
                                          chunk_file(2), chunk_file(999'999),
                                          std::string(kBackupManifestFile)};
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(chunk_file(1), "chunk-000001");
  EXPECT_EQ(chunk_file(1'234'567), "chunk-1234567");
}

TEST(BackupFiles, AreComparedWithTheManifest) {
  const BackupManifest manifest{.chunks = {entry_of("one"), entry_of("two")}};
  EXPECT_TRUE(check_chunk(manifest, 1, entry_of("one")));
  EXPECT_TRUE(check_chunk(manifest, 2, entry_of("two")));
  for (const Status& checked :
       {check_chunk(manifest, 1, entry_of("two")), check_chunk(manifest, 1, entry_of("ones")),
        check_chunk(manifest, 3, entry_of("one"))}) {
    EXPECT_EQ(code_of(checked), kBackupDamaged);
  }
  EXPECT_THAT(check_chunk(manifest, 1, entry_of("two")).error().message,
              testing::HasSubstr("chunk-000001"));
}

}  // namespace
}  // namespace millrace
