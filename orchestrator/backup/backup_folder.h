// A backup as a folder with the files of backup_files.h. For one thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "orchestrator/backup/backup_files.h"
#include "os/descriptor.h"

namespace millrace {

/// Writes a backup into a folder. Each file is synced before the next is written. The manifest gets
/// its name only when it is complete. An interrupted backup leaves a folder without a manifest.
class BackupFolderTarget final : public BackupTarget {
 public:
  /// Creates the folder (mode 0700) unless it exists and is empty. Errors: `backup.not_empty`,
  /// `backup.write`.
  static Result<BackupFolderTarget> make(const std::filesystem::path& folder);

  Status write(std::string_view name, std::string_view bytes) override;
  Status finish() override;

 private:
  BackupFolderTarget(std::filesystem::path folder, Descriptor opened)
      : folder_(std::move(folder)), opened_(std::move(opened)) {}

  std::filesystem::path folder_;
  Descriptor opened_;  ///< the folder, to sync it
};

/// Reads a backup from a folder.
class BackupFolderSource final : public BackupSource {
 public:
  /// Reads the head and the manifest, and checks the size and hash of every chunk: afterwards the
  /// backup is known to be whole. Errors: `backup.missing` (the path does not exist, or is not the
  /// folder of a backup), `backup.incomplete` (there is no manifest), kBackupDamaged (a file is
  /// missing or differs from the manifest), `backup.read`, and those of decode_backup_head().
  static Result<BackupFolderSource> open(const std::filesystem::path& folder);

  const BackupHead& head() const override { return manifest_.head; }
  /// Checks the chunk again, because the file may have changed since open().
  Result<std::optional<std::string>> next_chunk() override;
  const BackupManifest& manifest() const override { return manifest_; }

 private:
  BackupFolderSource(std::filesystem::path folder, BackupManifest manifest)
      : folder_(std::move(folder)), manifest_(std::move(manifest)) {}

  Result<std::string> read(size_t number) const;

  std::filesystem::path folder_;
  BackupManifest manifest_;
  size_t next_ = 1;
};

}  // namespace millrace
