// BackupWriter: writes the files of a backup in their order, and computes the manifest. For one
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "orchestrator/backup/backup_files.h"

namespace millrace {

class BackupWriter {
 public:
  /// `target` must outlive the writer.
  BackupWriter(BackupTarget& target, BackupHead head) : target_(target) {
    manifest_.head = std::move(head);
  }

  /// Writes the head. Errors: those of the target.
  Status begin();

  /// Checks the next chunk and writes it. Errors: those of each_row_of_chunk() and of the target.
  Status add(std::string_view chunk);

  /// Writes the manifest and ends the backup: only now the backup is complete. Errors: those of the
  /// target.
  Status finish();

  /// The chunks so far.
  const BackupManifest& manifest() const { return manifest_; }
  /// The bytes of all chunks so far.
  uint64_t bytes() const { return bytes_; }

 private:
  BackupTarget& target_;
  BackupManifest manifest_;
  std::string last_key_;
  uint64_t bytes_ = 0;
};

}  // namespace millrace
