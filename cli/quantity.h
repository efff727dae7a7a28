// Parses and prints the values of flags and environment variables: durations (`10s`) and numbers,
// also with a unit of bytes (`16MiB`). Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "cli/console.h"
#include "policies/duration.h"

namespace millrace {

/// Parses a duration, also of zero or with months, whose numbers all have a unit: `500` is
/// milliseconds in a definition, but seconds to most readers of a command line. Exit kUsage names
/// the flag; `flag` has no dashes.
Fallible<Span> read_span(const std::string& flag, const std::string& text);

/// As read_span(), but above zero and without months.
Fallible<Duration> read_duration(const std::string& flag, const std::string& text);

/// Parses a whole number of at least 1, with or without the unit KiB, MiB, GiB or TiB. Exit kUsage
/// names the flag; `flag` has no dashes.
Fallible<uint64_t> read_number(const std::string& flag, const std::string& text);

/// Parses a whole number of at least 1, without a unit. Exit kUsage names the flag; `flag` has no
/// dashes.
Fallible<uint64_t> read_count(const std::string& flag, const std::string& text);

/// The duration in the largest unit that divides it. read_duration parses the text to the same
/// value.
std::string duration_text(Duration duration);

/// The number in the largest unit that divides it. read_number parses the text to the same value.
std::string bytes_text(uint64_t bytes);

}  // namespace millrace
