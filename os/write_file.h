// Writes to files of which the bytes must be on disk. Any thread.
#pragma once

#include <filesystem>
#include <string_view>

namespace millrace {

/// Writes all bytes to the open file. Returns 0, or the number of the error (errno).
int write_all(int file, std::string_view bytes);

/// Puts the names of the files in the folder on disk. Returns 0, or the number of the error
/// (errno).
int sync_folder(const std::filesystem::path& folder);

}  // namespace millrace
