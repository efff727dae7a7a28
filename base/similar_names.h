// The name that a misspelt one was probably meant to be, for "did you mean". Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// The candidate that is nearest to `given` by Damerau–Levenshtein distance without regard to case:
/// at most 1 for names up to 3 bytes long, 2 up to 8, else a third of the length. The first of
/// equally near ones. Names longer than 64 bytes are not compared.
std::optional<std::string> nearest_name(std::string_view given,
                                        const std::vector<std::string_view>& candidates);

}  // namespace millrace
