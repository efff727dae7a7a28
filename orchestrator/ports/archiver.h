// Archiver: the port to the archive of deleted instances, which writes instances as lines of JSON
// before they are deleted.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/archive.h"
#include "model/definition.h"

namespace millrace {

/// An ended instance that is to be archived.
struct ArchivePageEntry {
  InstanceId id;
  /// The number of its newest history row. If the instance has another one, it was started again
  /// since.
  uint64_t last_history = 0;
};

/// Ended instances of one namespace that are archived together.
struct ArchivePage {
  uint64_t number = 0;  ///< chosen by the sender; its ArchivedPage has the same number
  NamespaceNumber ns{};
  std::string name;  ///< the name of the namespace
  ArchivePosition
      at;  ///< where the lines begin; bytes of the file behind this position are removed
  bool is_new_file = false;  ///< the file was never used: if it exists, it must not be changed
  std::vector<ArchivePageEntry> entries;
};

/// The error of a page whose file was changed by another program: it is missing, is shorter than
/// ArchivePage::at, or is a new file that exists already. The page must be written to a new file.
inline constexpr std::string_view kArchiveMoved = "archive.moved";

/// The result of an ArchivePage.
struct ArchivedPage {
  uint64_t number = 0;
  /// For each entry the length of the file behind its line; nullopt: the entry has no line, because
  /// the instance was started again, or its rows are damaged. The lines are on disk. Errors:
  /// kArchiveMoved; `archive.write`, the file could not be written; `store.link`, it is
  /// a symbolic link. After an error no line counts.
  Result<std::vector<std::optional<uint64_t>>> lengths;
};

/// Appends a line for each entry to the file, and syncs the file. Any thread; never blocks.
using Archiver = std::function<void(ArchivePage page, std::function<void(ArchivedPage)> done)>;

}  // namespace millrace
