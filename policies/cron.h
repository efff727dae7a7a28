// Cron: when a schedule ticks. Five fields (minute, hour, day of month, month, day of week) as
// robfig/cron v3 reads them, which Direktiv was built on: `*`, lists, ranges, steps, names of
// months and days, `?` for a day. Or `@hourly` and its kin, or `@every 90s`. `CRON_TZ=Europe/Vienna
// ` (or `TZ=`) before it names the zone; UTC without. Pure values, any thread.
//
// Where clocks are set forward or back, a schedule with hours of its own ticks once for each time
// that it names: what is skipped, at the moment of skipping; what comes twice, the first time. One
// for every hour (`30 * * * *`) goes on evenly, by what clocks show at the moment.
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
  /// White space around it is skipped. Errors name the field, the text and the byte, counted from
  /// 0: `cron.malformed`, `cron.range`, `cron.never` (no such day ever comes), `zone.unknown`,
  /// `zone.database`, and what Span::parse has against the time of an `@every`.
  static Result<Cron> parse(std::string_view text);

  /// The name of the zone that stands before it; empty if there is none. For what does not parse.
  static std::string_view zone_in(std::string_view text);

  /// The first tick later than `after`. `@every` counts from there. Held within the year 9999.
  TimePoint next(TimePoint after) const;

  /// When `tick` is carried out at `now`, perhaps much later: from where to count on, so that all
  /// that was missed until then is made up for by this one, and `@every` keeps its beat.
  TimePoint caught_up(TimePoint tick, TimePoint now) const;

  const std::string& text() const { return text_; }
  std::string_view zone() const { return zone_.name(); }

  /// Whether they are written the same.
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
  Duration every_{0};  ///< zero: by the fields, a bit for each value
  uint64_t minutes_ = 0;
  uint64_t hours_ = 0;
  uint64_t days_ = 0;
  uint64_t months_ = 0;
  uint64_t weekdays_ = 0;  ///< Sunday is 0
  /// Of the two fields for days one may leave it to the other; both say something: either will do.
  bool any_day_ = false;
  bool any_weekday_ = false;
};

}  // namespace millrace
