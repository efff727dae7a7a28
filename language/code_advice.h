// Advice on entries that name error codes. The codes under `direktiv.` and `millrace.` are a closed
// set (language/error_codes.h), so an entry that names any other code with such a prefix has no
// effect. Used by lint and for the settings of a namespace. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

struct CodeAdvice {
  std::string doubt;  ///< the problem with the entry, as a clause
  std::string mend;   ///< the correction, as an instruction
};

/// Advice on an entry of `catch`, which may contain `*` and `?`. nullopt: the entry can match a
/// code.
std::optional<CodeAdvice> advice_on_code_glob(const std::string& glob);

/// Advice on an entry of `nonRetryableErrors`, which is compared with the whole code. nullopt: the
/// entry can be equal to a code.
std::optional<CodeAdvice> advice_on_whole_code(const std::string& code);

/// Advice on an entry of Direktiv's `codes`, an ECMAScript regular expression. nullopt: the pattern
/// can match a code. Also nullopt if one of its alternatives is outside the closed set
/// (`direktiv.x|foo`), because functions choose their own codes.
std::optional<CodeAdvice> advice_on_code_pattern(const std::string& pattern);

/// The codes of the closed set that the pattern matches. Empty if some alternative of the pattern
/// does not spell a code with a prefix of that set (`direktiv.stateTimeout`, anchored or not).
std::vector<std::string_view> codes_spelt_by(const std::string& pattern);

}  // namespace millrace
