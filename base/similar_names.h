// How similar two names are, and which known name is most similar to a misspelt one, for "did you
// mean". Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// The Damerau–Levenshtein distance of two names, ignoring case; nullopt: one is longer than 64
/// bytes.
std::optional<size_t> name_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `given` by Damerau–Levenshtein distance, ignoring case; nullopt if none
/// is near enough. The distance may be at most 1 if the longer name has up to 3 bytes, 2 if it has
/// up to 8 bytes, else a third of the length of the longer name. The first of equally near
/// candidates wins. Names longer than 64 bytes are not compared.
std::optional<std::string> nearest_name(std::string_view given,
                                        const std::vector<std::string_view>& candidates);

}  // namespace millrace
