// The error codes under `direktiv.` and `millrace.` are a closed set (language/error_codes.h), so
// an entry that names another one of them does nothing. For lint and for the settings of a
// namespace. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

struct CodeAdvice {
  std::string doubt;  ///< what is wrong with the entry
  std::string mend;   ///< what to write instead, as an instruction
};

/// For an entry of `catch`, in which `*` and `?` may stand. nullopt: it may name a code.
std::optional<CodeAdvice> advice_on_code_glob(const std::string& glob);

/// For an entry of `nonRetryableErrors`, which is compared as a whole.
std::optional<CodeAdvice> advice_on_whole_code(const std::string& code);

/// For an entry of Direktiv's `codes`, an ECMAScript regular expression. nullopt also where one of
/// its alternatives is not in the closed set (`direktiv.x|foo`): functions choose their codes.
std::optional<CodeAdvice> advice_on_code_pattern(const std::string& pattern);

/// The codes of the closed set that a pattern matches which spells codes of that set
/// (`direktiv.stateTimeout`, anchored or not) in every alternative; none if it spells others.
std::vector<std::string_view> codes_spelt_by(const std::string& pattern);

}  // namespace millrace
