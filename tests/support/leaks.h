// Where a value that must stay secret can be found: in the bytes of every file of a folder (a
// store's pages too, those that are free included) and in texts. Looked for as it is, as a JSON
// string would hold it, in hexadecimal and in Base64.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// `NAME: FORM at BYTE` for each form of the value that is in the text.
std::vector<std::string> leaks_in(std::string_view name, std::string_view text,
                                  std::string_view value);

/// The same for all files below the folder.
std::vector<std::string> leaks_in_folder(const std::filesystem::path& folder,
                                         std::string_view value);

}  // namespace millrace
