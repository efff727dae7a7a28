// TimeZone: a zone of the system's database (Debian's tzdata), which is read once, each zone when
// it is first found. What it says of a moment never changes while the process runs, so those who
// hold one are pure. Its rules are known to the end of 2037; behind that its last offset stands.
// The .cc is the only file that includes date/tz.h. Any thread.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace date {
class time_zone;
}

namespace millrace {

/// What clocks on the wall show.
using LocalTime = std::chrono::local_time<Duration>;

class TimeZone {
 public:
  /// UTC, which needs no database.
  TimeZone() = default;

  /// `Europe/Vienna`, as the database writes it. Errors: `zone.unknown`; `zone.database` where
  /// there is none, or one without rules for the years to come.
  static Result<TimeZone> find(std::string_view name);

  /// All that find() takes; none where there is no database.
  static std::vector<std::string_view> names();

  std::string_view name() const;

  /// A stretch of time in which clocks keep the same distance from UTC: begin <= t < end.
  struct Stretch {
    TimePoint begin;
    TimePoint end;
    Duration offset{};

    LocalTime local(TimePoint at) const { return LocalTime((at + offset).time_since_epoch()); }
    TimePoint utc(LocalTime at) const { return TimePoint(at.time_since_epoch() - offset); }
  };
  Stretch around(TimePoint at) const;

  /// When clocks show that time, the first time where they do so twice. What they skip is when
  /// they skip it.
  TimePoint first(LocalTime local) const;

 private:
  explicit TimeZone(const date::time_zone* zone) : zone_(zone) {}

  const date::time_zone* zone_ = nullptr;
};

}  // namespace millrace
