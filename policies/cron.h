// Cron: when a schedule ticks. Five fields (minute, hour, day of month, month, day of week), read
// as robfig/cron v3 reads them, on which Direktiv was built: `*`, lists, ranges, steps, names of
// months and days, `?` for a day. Instead of the fields, a text may be `@hourly` or another macro,
// or `@every 90s`. `CRON_TZ=Europe/Vienna` (or `TZ=`) before the fields names the time zone;
// without a name, the zone is UTC. Pure values, any thread.
//
// When clocks are set forward or back, a schedule that names certain hours ticks once for each
// local time that it names. If the clocks skip such a local time, the schedule ticks at the moment
// of the skip. If such a local time comes twice, the schedule ticks only when it comes first. A
// schedule for every hour, for example `30 * * * *`, ticks at regular intervals, by the current
// local time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "policies/time_zone.h"

namespace millrace {

class Cron {
 public:
  /// Parses `text`; white space around it is skipped. Errors name the field, the text and the byte,
  /// counted from 0: `cron.malformed`, `cron.range`, `cron.never` (no such day exists),
  /// `zone.unknown`, `zone.database`, and the errors of Span::parse for the time of an `@every`.
  static Result<Cron> parse(std::string_view text);

  /// The name of the time zone that the text has before its fields; empty if it has none. The text
  /// need not be a valid cron expression.
  static std::string_view zone_in(std::string_view text);

  /// The first tick later than `after`. `@every` counts from `after`. The result is limited to the
  /// end of the year 9999.
  TimePoint next(TimePoint after) const;

  /// The time from which next() computes the next tick, after `tick` was carried out at `now`,
  /// perhaps much later than at its time. This one tick replaces all ticks that were missed up to
  /// `now`, and `@every` keeps its phase.
  TimePoint caught_up(TimePoint tick, TimePoint now) const;

  const std::string& text() const { return text_; }
  std::string_view zone() const { return zone_.name(); }

  /// Whether both schedules were written with the same text.
  friend bool operator==(const Cron& a, const Cron& b) { return a.text_ == b.text_; }

 private:
  friend class CronParser;
  Cron() = default;

  std::optional<LocalTime> match(LocalTime from) const;
  bool ticks_on(std::chrono::local_days day, std::chrono::day of_month) const;
  TimePoint next_of_each_hour(TimePoint after) const;
  TimePoint next_of_some_hours(TimePoint after) const;

  std::string text_;
  TimeZone zone_;
  Duration every_{0};  ///< zero: the fields below are used, one bit for each value
  uint64_t minutes_ = 0;
  uint64_t hours_ = 0;
  uint64_t days_ = 0;
  uint64_t months_ = 0;
  uint64_t weekdays_ = 0;  ///< Sunday is 0
  /// Whether the day-of-month field or the day-of-week field is `*`. If either is, a day must match
  /// both fields; otherwise a day needs to match only one of them.
  bool any_day_ = false;
  bool any_weekday_ = false;
};

}  // namespace millrace
