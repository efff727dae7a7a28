// A backup as a tar stream with the files of backup_files.h, in their order. For one thread.
#pragma once

#include <istream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "orchestrator/backup/backup_files.h"
#include "orchestrator/backup/tar_stream.h"

namespace millrace {

class BackupTarTarget final : public BackupTarget {
 public:
  explicit BackupTarTarget(std::ostream& out) : tar_(out) {}

  Status write(std::string_view name, std::string_view bytes) override {
    return tar_.add(name, bytes);
  }
  Status finish() override { return tar_.finish(); }

 private:
  TarStreamWriter tar_;
};

/// Reads a backup from a tar stream. The manifest comes last, so whether the backup is whole is
/// known only after the last chunk.
class BackupTarSource final : public BackupSource {
 public:
  /// Reads the head. `in` must outlive the source. Errors: `backup.read`, kBackupDamaged (the first
  /// entry is not the head), and those of decode_backup_head().
  static Result<std::unique_ptr<BackupTarSource>> open(std::istream& in);

  const BackupHead& head() const override { return head_; }
  /// Checks, when it has read the manifest, the head, the number of the chunks and their hashes.
  Result<std::optional<std::string>> next_chunk() override;
  const BackupManifest& manifest() const override { return manifest_; }

 private:
  explicit BackupTarSource(std::istream& in) : tar_(in) {}

  Status end(std::string_view manifest);

  TarStreamReader tar_;
  BackupHead head_;
  std::vector<ChunkEntry> found_;  ///< the chunks so far
  BackupManifest manifest_;
};

}  // namespace millrace
