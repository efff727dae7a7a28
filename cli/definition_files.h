// Selects the files of a folder that hold definitions. `apply`, `lint` and `dev` select the same
// files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace {

/// Returns the files below a folder whose names end in `.yaml`, `.yml` or `.json`, sorted, inbound
/// files (is_inbound_file) among them. Leaves out scenario files, hidden files and folders, pipes
/// and devices. Error `file.unreadable`: a folder cannot be read.
Result<std::vector<std::filesystem::path>> definition_files_below(
    const std::filesystem::path& folder);

/// Whether the text of such a file is meant as a definition, so that its errors are reported. The
/// folder may also contain payloads and settings of other programs. A `.yaml` or `.yml` file is a
/// definition if it has `states` or `id`, or if it does not parse and is not empty. A JSON file is
/// a definition if it has `states`, or `id` and a key similar to `states`; a JSON file that does
/// not parse is a definition if it contains "state", in upper or lower case.
bool looks_like_definition(const std::filesystem::path& file, std::string_view text);

/// The line that reports a skipped file of a folder: `FILE: skipped: it is not a workflow, …`, or
/// how its settings of a namespace are set.
std::string passed_over(const std::filesystem::path& file, std::string_view text);

}  // namespace millrace
