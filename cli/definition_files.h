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

/// Whether a text that lies in such a file is meant as a definition. Payloads and settings of other
/// programs may lie beside definitions; what has `states`, or an `id` and a key like `states`, is a
/// definition, and a text that is not YAML is one if it says "state" at all, so that its mistake is
/// reported.
bool looks_like_definition(std::string_view text);

/// Why a file of a folder was not taken: `FILE: passed over: it has no "states"`.
std::string passed_over(const std::filesystem::path& file);

}  // namespace millrace
