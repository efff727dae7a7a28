// Amounts as flags and variables have them: lengths of time (`10s`) and numbers, also of bytes
// (`16MiB`). Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "cli/console.h"

namespace millrace {

/// A length of time above zero, without months. Exit kUsage names the flag, which has no dashes.
Fallible<Duration> read_duration(const std::string& flag, const std::string& text);

/// A whole number of one or more, or of KiB, MiB, GiB or TiB. Exit kUsage names the flag.
Fallible<uint64_t> read_number(const std::string& flag, const std::string& text);

/// Those that the functions above read as the same amount, in the largest unit that it is a
/// multiple of.
std::string duration_text(Duration duration);
std::string bytes_text(uint64_t bytes);

}  // namespace millrace
