#include "orchestrator/backup/backup_files.h"

#include <fmt/format.h>

namespace millrace {

std::string chunk_file(size_t number) { return fmt::format("chunk-{:06}", number); }

Error incomplete_backup(std::string_view where) {
  return {"backup.incomplete",
          fmt::format("{} is not a complete backup: the file {}, which is written last, is "
                      "missing; use another backup",
                      where, kBackupManifestFile)};
}

Error missing_backup(std::string_view path, std::string_view why) {
  return {
      "backup.missing",
      fmt::format("\"{}\" is not a backup: {}; name the folder that `millrace backup` has written, "
                  "or write `-` and give a tar stream of `millrace backup -` on standard input",
                  path, why)};
}

Result<BackupHead> read_head_file(std::string_view text) {
  const Result<Json> json = parse_own_json(text);
  if (json) return decode_backup_head(*json);
  return fail(std::string(kBackupDamaged), fmt::format("{} of the backup is damaged: {}; use "
                                                       "another backup",
                                                       kBackupHeadFile, json.error().message));
}

ChunkEntry entry_of(std::string_view chunk) {
  return {.bytes = chunk.size(), .hash = chunk_hash(chunk)};
}

Status check_chunk(const BackupManifest& manifest, size_t number, const ChunkEntry& found) {
  const auto damaged = [&](std::string_view what) {
    return fail(std::string(kBackupDamaged),
                fmt::format("{} of the backup is damaged: {}; use another backup",
                            chunk_file(number), what));
  };
  if (number > manifest.chunks.size()) {
    return damaged(fmt::format("the manifest lists {} chunks only", manifest.chunks.size()));
  }
  const ChunkEntry& listed = manifest.chunks[number - 1];
  if (found.bytes != listed.bytes) {
    return damaged(
        fmt::format("it has {} bytes, the manifest lists {}", found.bytes, listed.bytes));
  }
  if (found.hash == listed.hash) return {};
  return damaged("its hash is not the one that the manifest lists");
}

}  // namespace millrace
