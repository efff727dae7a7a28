// Typos: two values that differ in two transposed characters, or in one character more. A replaced
// character is no typo: `A-1043` and `A-1044` are different orders. Characters are those of UTF-8.
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// The longest value, in bytes, for which a typo is searched.
inline constexpr size_t kMostOfATypo = 256;

/// Whether two neighbouring characters of `a` are transposed in `b`, or one of the values has one
/// character more. Values of fewer than 4 characters, and of more than kMostOfATypo bytes, differ
/// in no typo.
bool is_typo(std::string_view a, std::string_view b);

/// At most `most` values that differ from `value` in a typo, each once: first those with two
/// characters transposed, then those with one character less, then those with one character more,
/// which is a digit or a character of the value. Values of more than kMostOfATypo bytes have none.
std::vector<std::string> typos_of(std::string_view value, size_t most);

}  // namespace millrace
