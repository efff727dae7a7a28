// Which files of a folder hold definitions: `apply`, `lint` and `dev` take the same ones.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace {

/// The files below a folder whose names end in `.yaml`, `.yml` or `.json` and are not those of
/// scenarios, sorted. Hidden files and folders, pipes and devices are not among them. Error
/// `file.unreadable`: a folder cannot be read.
Result<std::vector<std::filesystem::path>> definition_files_below(
    const std::filesystem::path& folder);

/// Whether the text of such a file is meant as a definition, so that its mistakes are reported.
/// Payloads and settings of other programs may lie beside definitions. YAML with `states` or `id`
/// is a definition, and so is a text in a `.yaml` or `.yml` file that does not parse and is not
/// empty. JSON is one if it has `states`, or an `id` and a key like `states`; if it does not parse,
/// if it says "state" at all.
bool looks_like_definition(const std::filesystem::path& file, std::string_view text);

/// Why a file of a folder was not taken: `FILE: skipped: it is not a workflow, …`.
std::string passed_over(const std::filesystem::path& file);

}  // namespace millrace
