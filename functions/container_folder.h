// The folders of containers on this machine: what an earlier process has left goes, and what a
// container writes is measured, since nothing else bounds it. Blocks on the disk.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace millrace {

/// Makes the folder for all containers, or empties it, and returns its absolute path. Errors show
/// when the first task is laid out in it.
std::filesystem::path prepare_container_folder(const std::filesystem::path& folder);

/// Whether there is more in the folder of a container than functions may write: twice
/// kMaxFilesBytes and kMaxFilesEntries, since what was laid out for them is in it too.
bool is_too_full(const std::filesystem::path& folder);

/// Removes it with all that is in it. What can't be removed now is tried again at the next start.
void remove_folder(const std::filesystem::path& folder);

}  // namespace millrace
