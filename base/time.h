// Points in time and spans, to the millisecond, UTC. Nothing here reads a clock: time is given.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace millrace {

using Duration = std::chrono::milliseconds;
using TimePoint = std::chrono::sys_time<Duration>;

/// `2021-09-01T12:00:00.000Z`: RFC 3339, UTC, always three digits of fraction.
std::string format_rfc3339(TimePoint time);

/// Reads any RFC 3339 date-time (section 5.6: offset required, fraction of any length, cut to the
/// millisecond; `:60` is read as the next second). Error `time.malformed` names the text.
Result<TimePoint> parse_rfc3339(std::string_view text);

/// Milliseconds since the Unix epoch, as stored.
inline int64_t to_millis(TimePoint time) { return time.time_since_epoch().count(); }
inline TimePoint from_millis(int64_t millis) { return TimePoint(Duration(millis)); }

}  // namespace millrace
