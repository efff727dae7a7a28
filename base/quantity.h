// Quantities: whole numbers that may have a unit of bytes (`16MiB`). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

/// Units of bytes; each unit is 1024 times the unit before it.
inline constexpr std::array<std::string_view, 5> kByteUnits = {"", "KiB", "MiB", "GiB", "TiB"};

/// Reads a whole number of at least 1, with or without the unit KiB, MiB, GiB or TiB. nullopt: the
/// text is none, or the number of bytes does not fit into 64 bits.
std::optional<uint64_t> parse_quantity(std::string_view text);

/// A number of bytes for people: with the largest unit of which it is a whole number (`200MiB`),
/// or as `1500 bytes`.
std::string format_bytes(uint64_t bytes);

}  // namespace millrace
