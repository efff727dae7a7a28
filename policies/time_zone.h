// TimeZone: a zone of the system's database (Debian's tzdata). The list of zones is read once; the
// rules of a zone are read when find() first finds that zone. The offset of a zone at a given time
// never changes while the process runs, so values that hold a TimeZone are pure. The rules of a
// zone are known to the end of 2037; after that, the zone's last offset applies. time_zone.cc is
// the only file that includes date/tz.h. Any thread.
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

/// The time that a wall clock in a zone shows.
using LocalTime = std::chrono::local_time<Duration>;

class TimeZone {
 public:
  /// Makes the zone UTC, which needs no database.
  TimeZone() = default;

  /// Finds a zone by its name in the database, such as `Europe/Vienna`. Errors: `zone.unknown`;
  /// `zone.database` if there is no database, or it has no rules for future years.
  static Result<TimeZone> find(std::string_view name);

  /// All names that find() accepts; empty if there is no database.
  static std::vector<std::string_view> names();

  std::string_view name() const;

  /// A stretch of time with one offset from UTC: begin <= t < end.
  struct Stretch {
    TimePoint begin;
    TimePoint end;
    Duration offset{};

    LocalTime local(TimePoint at) const { return LocalTime((at + offset).time_since_epoch()); }
    TimePoint utc(LocalTime at) const { return TimePoint(at.time_since_epoch() - offset); }
  };
  Stretch around(TimePoint at) const;

  /// The time at which clocks show `local`. If the clocks show `local` twice, the result is the
  /// first of the two times; if the clocks skip `local`, the result is the moment of the skip.
  TimePoint first(LocalTime local) const;

 private:
  explicit TimeZone(const date::time_zone* zone) : zone_(zone) {}

  const date::time_zone* zone_ = nullptr;
};

}  // namespace millrace
