// Times and durations in milliseconds, UTC. Nothing here reads a clock: the caller passes the time.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

using Duration = std::chrono::milliseconds;
using TimePoint = std::chrono::sys_time<Duration>;

/// The time as RFC 3339 in UTC, always with three fraction digits: `2021-09-01T12:00:00.000Z`.
/// Times before the year 0 or after the year 9999 are cut to these years.
std::string format_rfc3339(TimePoint time);

/// Reads any RFC 3339 date-time (section 5.6). The offset is required; a fraction may have any
/// length and is cut to the millisecond; second 60 is read as second 0 of the next minute. A time
/// that is outside the years 0 to 9999 in UTC becomes the first or the last millisecond of these
/// years. Error: `time.malformed`, which quotes the text.
Result<TimePoint> parse_rfc3339(std::string_view text);

/// Milliseconds since the Unix epoch, the form in which times are stored.
inline int64_t to_millis(TimePoint time) { return time.time_since_epoch().count(); }
inline TimePoint from_millis(int64_t millis) { return TimePoint(Duration(millis)); }

}  // namespace millrace
