// The error codes that millrace raises in an instance: the closed set under `direktiv.` and
// `millrace.`, which is the group instance_errors() of the error table. Functions, Error states and
// subflows may raise any other code. The loader's checks, the editor's schema and docs/language.md
// agree with this group. Constants, any thread.
#pragma once

#include <string_view>
#include <vector>

namespace millrace {

/// The names of all error codes, as candidates for `did_you_mean`.
std::vector<std::string_view> error_code_names();

/// Whether the text begins with a prefix of the closed set: `direktiv.` or `millrace.`, in upper or
/// lower case.
bool is_reserved_code(std::string_view text);

}  // namespace millrace
