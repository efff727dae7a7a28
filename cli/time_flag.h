// The value of an option that names a time: --since, --until, --before. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "cli/console.h"

namespace millrace {

/// The time in RFC 3339. A duration without months is subtracted from `now`; an empty text stays
/// empty. Exit kUsage: it is neither a time nor such a duration.
Fallible<std::string> time_of_flag(std::string_view flag, const std::string& text, TimePoint now);

/// The same for a time that comes: a duration is added to `now`.
Fallible<std::string> coming_time_of_flag(std::string_view flag, const std::string& text,
                                          TimePoint now);

}  // namespace millrace
