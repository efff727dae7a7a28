// The files of the store in a data folder that no Environment has open: they are removed, or moved
// into a folder within it, so that the next open begins with an empty store. The folder itself
// stays, because it may be a mount point, and so do its lock, its key and the files that are not
// the store's. While the files are removed or moved, the folder has the file `clearing`: if the
// process ends in between, Environment::open() refuses the folder (`store.joining`) until
// clear_store() has finished the work. Any thread.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace millrace {

/// Removes the files of the store. If a set_store_aside() was interrupted, moves the rest of the
/// files instead. Errors: `store.locked`, the folder is open; `store.io`; `store.full`.
Status clear_store(const std::filesystem::path& folder);

/// Moves the files of the store into the new folder `name` within `folder`, and returns its path.
/// `name`: the name of a file, without a path. Errors: those of clear_store(); `store.io`, also if
/// there is a file or folder `name`; `store.joining`, an interrupted work must be finished by
/// clear_store() first.
Result<std::filesystem::path> set_store_aside(const std::filesystem::path& folder,
                                              const std::string& name);

/// Error `store.joining`, if some of the files of the store were removed or moved, and not all.
Status refuse_half_cleared(const std::filesystem::path& folder);

}  // namespace millrace
