// The folders of containers on this machine. Folders of an earlier process are removed. The size of
// a container's folder is measured, because the runtime limits the size of each file only. The
// files of sealed tasks are in a folder in memory, so that no secret gets to the disk. The
// functions block on the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "base/result.h"
#include "functions/files.h"

namespace millrace {

/// The limits of a container's folder. They are twice the limits for files, because the folder has
/// both the files that the function was given and those that it wrote.
inline constexpr uint64_t kMaxFolderBytes = 2 * kMaxFilesBytes;
inline constexpr size_t kMaxFolderEntries = 2 * kMaxFilesEntries;

/// Creates a folder of millrace to which no other user has access, if it does not exist, and
/// returns its absolute path. An error shows when a file in it is written.
std::filesystem::path make_own_folder(const std::filesystem::path& folder);

/// Creates a folder for the files of sealed tasks, if it does not exist, and returns its absolute
/// path. Error: see prepare_sealed_folder().
Result<std::filesystem::path> make_sealed_folder(const std::filesystem::path& folder);

/// Whether the path is a folder, and no link, to which no other user has access.
bool is_own_folder(const std::filesystem::path& path);

/// Creates the folder for all containers, or empties it, and returns its absolute path. An error
/// shows when files for the first task are written.
std::filesystem::path prepare_container_folder(const std::filesystem::path& folder);

/// Creates the folder for the containers of sealed tasks, or empties it, and returns its absolute
/// path. Error kFunctionFiles, with what to do: the folder's parent is not in memory (tmpfs); or
/// the folder exists and is a link, belongs to another user, or other users have access to it.
Result<std::filesystem::path> prepare_sealed_folder(const std::filesystem::path& folder);

/// Whether the folder of a container has more than kMaxFolderBytes or kMaxFolderEntries. Files that
/// were removed and are still open are not counted.
bool is_too_full(const std::filesystem::path& folder);

/// Removes the folder with its content. If the removal fails, the next start of millrace tries
/// again.
void remove_folder(const std::filesystem::path& folder);

}  // namespace millrace
