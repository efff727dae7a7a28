// The error codes that millrace raises in an instance. They are the closed set under `direktiv.`
// and `millrace.`: functions, Error states and subflows may raise any other code. The loader's
// checks, the editor's schema and docs/language.md agree with this table. Constants, any thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace millrace {

struct ErrorCode {
  std::string_view code;
  std::string_view meaning;  ///< one sentence
};

/// All of them, by name.
std::span<const ErrorCode> error_codes();

/// The codes alone, as candidates for `did_you_mean`.
std::vector<std::string_view> error_code_names();

/// Whether the text is in the closed set's namespaces, in any case of letters: it begins with
/// `direktiv.` or `millrace.`.
bool is_reserved_code(std::string_view text);

}  // namespace millrace
