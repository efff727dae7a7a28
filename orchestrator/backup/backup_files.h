// The files of a backup, in their order: the head, the chunks, the manifest. A backup is a folder
// (backup_folder.h) or a tar stream (backup_tar.h) with these files. The names sort in the order of
// the files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "orchestrator/backup/manifest.h"

namespace millrace {

inline constexpr std::string_view kBackupHeadFile = "backup.json";
inline constexpr std::string_view kBackupManifestFile = "manifest.json";

/// The name of the nth chunk, counted from 1: `chunk-000001`.
std::string chunk_file(size_t number);

/// Where a backup is written. For one thread.
class BackupTarget {
 public:
  virtual ~BackupTarget() = default;

  /// Writes the next file. Errors: `backup.write`.
  virtual Status write(std::string_view name, std::string_view bytes) = 0;

  /// Ends the backup after its last file. Errors: `backup.write`.
  virtual Status finish() = 0;
};

/// A backup that is read from its first chunk to its last. For one thread.
class BackupSource {
 public:
  virtual ~BackupSource() = default;

  virtual const BackupHead& head() const = 0;

  /// The next chunk; nullopt: there are no more. Errors: `backup.read`, kBackupDamaged,
  /// `backup.incomplete`.
  virtual Result<std::optional<std::string>> next_chunk() = 0;

  /// The manifest. To be called after next_chunk() has returned nullopt.
  virtual const BackupManifest& manifest() const = 0;
};

/// The error of a backup that has no manifest. `where` names the backup.
Error incomplete_backup(std::string_view where);

/// The error of a path at which there is no backup, complete or not; `why` is a clause such as "it
/// does not exist".
Error missing_backup(std::string_view path, std::string_view why);

/// Reads the head of a backup from the text of its file. Errors: those of decode_backup_head().
Result<BackupHead> read_head_file(std::string_view text);

/// Checks that a chunk is the one that the manifest lists as the nth, counted from 1. Error
/// kBackupDamaged.
Status check_chunk(const BackupManifest& manifest, size_t number, const ChunkEntry& found);

/// The size and hash of a chunk.
ChunkEntry entry_of(std::string_view chunk);

}  // namespace millrace
