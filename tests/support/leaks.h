// Searches for a value that must stay secret in the bytes of every file of a folder (also in the
// free pages of a store) and in texts: as plain text, as a JSON string, in hexadecimal and in
// Base64.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// A line `NAME: FORM at BYTE` for each form of the value in the text.
std::vector<std::string> leaks_in(std::string_view name, std::string_view text,
                                  std::string_view value);

/// The lines of leaks_in() for all files below the folder.
std::vector<std::string> leaks_in_folder(const std::filesystem::path& folder,
                                         std::string_view value);

}  // namespace millrace
