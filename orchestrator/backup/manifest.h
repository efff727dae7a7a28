// The head and the manifest of a backup (docs/FORMATS.md, "Backup"). The head says which store the
// backup is of, and as of which commit. The manifest has the head, and the size and hash of each
// chunk. It is written last, so a backup without a manifest is incomplete. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/cursor.h"
#include "orchestrator/backup/chunk.h"

namespace millrace {

/// The version of the format of backups that this release reads and writes.
inline constexpr uint64_t kBackupVersion = 1;

struct BackupHead {
  std::string store;    ///< id of the store, 32 hexadecimal digits; empty: it never had an id
  uint64_t format = 0;  ///< format of the store
  uint64_t minor = 0;   ///< minor number of that format
  uint64_t commit = 0;  ///< number of the commit that the backup is of
  Cursor cursor;        ///< how far the event stream was applied in that commit
  TimePoint time;       ///< the wall clock when the backup began
  std::string release;  ///< version of the millrace that made the backup
  std::string key_row;  ///< see read_key_row(); empty: the store needs no key
  /// For a backup of a store that was itself restored or copied: RestoredStreams::since of the
  /// store.
  std::optional<TimePoint> since = std::nullopt;

  bool operator==(const BackupHead&) const = default;
};

struct ChunkEntry {
  uint64_t bytes = 0;
  std::string hash;  ///< see chunk_hash()

  bool operator==(const ChunkEntry&) const = default;
};

struct BackupManifest {
  BackupHead head;
  RowCounts rows;
  std::vector<ChunkEntry> chunks;

  bool operator==(const BackupManifest&) const = default;
};

/// The head of a backup of `view`, without `time`, `release` and `since`. Errors: `store.not_found`
/// (the store has no rows yet), those of check_known_numbers(), and a damaged row.
Result<BackupHead> read_backup_head(const View& view, uint64_t commit);

/// {"version","store","format","minor","commit","cursor":{"streamCreated"
/// (ns),"sequence","stamped"}, "time","millrace","key"?,"since"?}; "key" is key_row in hexadecimal
/// digits.
Json encode(const BackupHead& head);

/// The members of a head that are shown to a person: all but "version", "key" and
/// "since".
Json summary_of(const BackupHead& head);

/// Reads a head, also one with further members, or without the minor number, which is then 0.
/// Errors: kBackupDamaged (the message names the member), `backup.version` (another version of the
/// format of backups), `store.version` (the format of the store or its minor number is newer than
/// this release reads).
Result<BackupHead> decode_backup_head(const Json& json);

/// The JSON text: the members of the head, and {"rows":{table: n},"chunks":[{"bytes","hash"}]}.
std::string encode(const BackupManifest& manifest);

/// Errors: those of decode_backup_head().
Result<BackupManifest> decode_backup_manifest(std::string_view text);

}  // namespace millrace
