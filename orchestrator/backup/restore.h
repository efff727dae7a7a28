// Restoring: makes a store in a new folder from a backup. The store is written into a temporary
// folder beside the folder, checked there, and renamed only if the check has no findings. So a
// restore that is interrupted at any time leaves no folder, and can be started again. For one
// thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/result.h"
#include "orchestrator/backup/backup_files.h"
#include "orchestrator/check/store_check.h"

namespace millrace {

struct RestoreSettings {
  std::filesystem::path folder;    ///< must be missing or empty
  std::filesystem::path key_file;  ///< the key of the store; empty: the caller has no key
  bool copies_key = false;         ///< the key is written into the folder, too
  /// The store keeps its id (identity.h): it replaces the store that the backup is of.
  bool takes_over = false;
  bool keeps_failed = false;  ///< the temporary folder stays after an error or with findings
  StoreCheckOptions check;
  std::function<void(uint64_t rows)> on_loaded;  ///< called after each chunk; may be empty
};

struct Restored {
  StoreReport report;            ///< the store check; with findings, `folder` was not created
  std::filesystem::path folder;  ///< the absolute path of the folder
};

/// The temporary folder for a store in `folder`: `FOLDER.partial`.
std::filesystem::path partial_folder(const std::filesystem::path& folder);

/// Restores the backup. Before anything is written, it is checked that the folder can be created
/// and that the key is the key of the store. A temporary folder that an interrupted restore left is
/// removed first. Errors: `restore.not_empty`, `restore.mount_point` (the folder cannot be replaced
/// by a rename), `store.key` (the key is missing or another one), `store.locked` (another restore
/// into the folder is running), `restore.write`, and those of the source, of Environment::open(),
/// of a commit, of write_restored_file() and of check_folder().
Result<Restored> restore_backup(BackupSource& source, const RestoreSettings& settings);

}  // namespace millrace
