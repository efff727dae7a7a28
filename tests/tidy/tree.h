// The tree: the files of the repository, for tests of the sources.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// The folder that holds the repository.
std::filesystem::path root();

/// All files of the repository, sorted, without `build/` and folders that begin with a dot.
std::vector<std::filesystem::path> all_files();

/// The bytes of a file.
std::string text_of(const std::filesystem::path& path);

/// Whether a path from the root names a source file of the program, and not of a test, benchmark or
/// example.
bool is_program_source(const std::filesystem::path& path);

/// The headers that a source includes in quotes, as it names them.
std::vector<std::string> includes_of(std::string_view text);

}  // namespace millrace
