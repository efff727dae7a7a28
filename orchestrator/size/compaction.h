// Compaction: replaces data.mdb by a copy that has the same rows and no free pages. For a store
// that no process has open. A compaction that is interrupted at any time leaves the store with all
// its rows. For one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "base/result.h"

namespace millrace {

/// The error code of a disk that has too little space for the copy.
inline constexpr std::string_view kNoSpaceToCompact = "compact.space";

struct CompactSettings {
  std::filesystem::path folder;  ///< the folder of the store
  /// The disk space, in bytes, that must stay free when the copy is complete.
  uint64_t reserve_bytes = uint64_t{64} << 20;
  /// Called every few thousand rows with the number of rows so far, of about `of`; each row is
  /// copied, and then compared. May be empty.
  std::function<void(uint64_t rows, uint64_t of)> progress;
  /// For tests: called after each step that changes the folder.
  std::function<void()> on_step;
};

struct Compacted {
  std::filesystem::path folder;  ///< the absolute path of the folder, without symbolic links
  uint64_t rows = 0;
  uint64_t bytes_before = 0;  ///< size of data.mdb and of the two journal files
  uint64_t bytes_after = 0;
};

/// The folder, within the folder of a store, in which a compaction makes the copy. An interrupted
/// compaction leaves it, and the next one removes it.
std::filesystem::path copy_folder(const std::filesystem::path& folder);

/// Compacts the store. All commits that only the journals have are included. Before the store is
/// replaced, the copy is compared with it row by row. Errors: kNoSpaceToCompact, kCopyDiffers
/// (row_copy.h), `compact.write` (the folder cannot be written), `store.not_found`, `store.locked`
/// (a process has the folder open), `store.corrupt`, `store.version`, `tree.unknown`, and the other
/// errors of Environment::open(), checkpoint() and LmdbFile. After an error the store has all its
/// rows.
Result<Compacted> compact_store(const CompactSettings& settings);

}  // namespace millrace
