// The folders of containers on this machine. Folders of an earlier process are removed. The size of
// a container's files is measured, because nothing else limits that size. The functions block on
// the disk.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace millrace {

/// Creates the folder for all containers, or empties it, and returns its absolute path. An error
/// shows when files for the first task are written.
std::filesystem::path prepare_container_folder(const std::filesystem::path& folder);

/// Whether the folder of a container has more than twice kMaxFilesBytes or kMaxFilesEntries: it
/// contains both the files that the function was given and those that the function wrote.
bool is_too_full(const std::filesystem::path& folder);

/// Removes the folder with its content. If the removal fails, the next start of millrace tries
/// again.
void remove_folder(const std::filesystem::path& folder);

}  // namespace millrace
