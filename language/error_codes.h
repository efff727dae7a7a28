// The error codes that millrace raises in an instance: the closed set under `direktiv.` and
// `millrace.`. Functions, Error states and subflows may raise any other code. The loader's checks,
// the editor's schema and docs/language.md agree with this table. Constants, any thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace millrace {

struct ErrorCode {
  std::string_view code;
  std::string_view meaning;  ///< one sentence
};

/// All error codes, sorted by name.
std::span<const ErrorCode> error_codes();

/// The names of all error codes, as candidates for `did_you_mean`.
std::vector<std::string_view> error_code_names();

/// Whether the text begins with a prefix of the closed set: `direktiv.` or `millrace.`, in upper or
/// lower case.
bool is_reserved_code(std::string_view text);

}  // namespace millrace
