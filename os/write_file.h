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

/// Replaces the content of the file, or creates the file, which only its owner may read. After a
/// power cut at any time the file has either the new content or the previous one. Writes the file
/// `PATH.new` first, which must not be a link (ELOOP). Returns 0, or the number of the error
/// (errno).
int replace_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace millrace
