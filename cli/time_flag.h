// The options that name a time: --since, --until, --before, and their values. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "cli/command_parser.h"
#include "cli/console.h"

namespace millrace {

/// The time in RFC 3339. A duration without months is subtracted from `now`; an empty text stays
/// empty. Exit kUsage: it is neither a time nor such a duration.
Fallible<std::string> time_of_flag(std::string_view flag, const std::string& text, TimePoint now);

/// The same for a time that comes: a duration is added to `now`.
Fallible<std::string> coming_time_of_flag(std::string_view flag, const std::string& text,
                                          TimePoint now);

/// Adds --since and --until, which select events by the times at which they were stored.
void add_event_window(Verb& verb, std::string& since, std::string& until);

}  // namespace millrace
