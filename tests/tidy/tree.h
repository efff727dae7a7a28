// The tree: the files of the repository as the tests of the sources see them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace millrace {

/// The folder that holds the repository.
std::filesystem::path root();

/// All files of the repository, sorted. What is built and what git keeps for itself (`build/`,
/// folders with a dot in front) are not among them.
std::vector<std::filesystem::path> all_files();

/// The bytes of a file.
std::string text_of(const std::filesystem::path& path);

}  // namespace millrace
