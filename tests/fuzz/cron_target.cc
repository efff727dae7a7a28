// Schedules as cron expressions, and the ticks of those that are accepted.
// Covers: policies/cron.cc policies/time_zone.cc policies/duration.cc
#include <algorithm>
#include <chrono>

#include "base/time.h"
#include "policies/cron.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

/// The last millisecond of the year 9999, at which a schedule that ticks no more has its next tick.
constexpr TimePoint kLastTick =
    std::chrono::sys_days(std::chrono::year(10'000) / std::chrono::January / 1) - Duration(1);

void check_ticks(const Cron& cron, TimePoint start) {
  TimePoint at = start;
  for (int i = 0; i < 4; ++i) {
    const TimePoint tick = cron.next(at);
    CHECK(tick > at || tick == kLastTick, "{} ticks at {}, after {}", cron.text(),
          format_rfc3339(tick), format_rfc3339(at));
    CHECK(cron.next(at) == tick, "{} has two next ticks", cron.text());
    if (tick == kLastTick) return;
    const TimePoint same = cron.caught_up(tick, tick);
    CHECK(same == tick, "{} is not caught up at its tick", cron.text());
    const TimePoint late = tick + std::chrono::hours(50);
    const TimePoint from = cron.caught_up(tick, late);
    CHECK(from >= tick && from <= late, "{} continues at {}, after a tick at {}", cron.text(),
          format_rfc3339(from), format_rfc3339(tick));
    CHECK(cron.next(from) > late || cron.next(from) == kLastTick,
          "{} repeats a tick that it missed", cron.text());
    // No tick is between the tick before it and the tick.
    const TimePoint middle = at + (tick - at) / 2;
    if (cron.text().find("@every") == std::string::npos) {
      CHECK(cron.next(middle) == tick, "{} has a tick before {}", cron.text(),
            format_rfc3339(tick));
    }
    at = tick;
  }
}

}  // namespace

FUZZ_TARGET(cron) {
  if (bytes.size() > 512) return;
  const std::string_view zone = Cron::zone_in(bytes);
  CHECK(zone.size() <= bytes.size(), "the zone is longer than the text");
  const Result<Cron> cron = Cron::parse(bytes);
  if (!cron) {
    check_shown_error(cron.error());
    return;
  }
  const Result<Cron> again = Cron::parse(cron->text());
  CHECK(again && *again == *cron, "the text of {} is another schedule", cron->text());
  for (const int64_t millis :
       {INT64_C(0), INT64_C(1'616'000'000'000), INT64_C(4'102'444'800'000)}) {
    check_ticks(*cron, from_millis(millis));
    CHECK(again->next(from_millis(millis)) == cron->next(from_millis(millis)),
          "{} ticks otherwise when it is read again", cron->text());
  }
}

}  // namespace millrace::fuzz
