// Span: a duration as it is written in a workflow, and the only parser of durations. A span in
// months has no fixed length: call `after` with the time at which the span starts. Pure values, any
// thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace millrace {

struct Span {
  int months = 0;     ///< calendar months (`P1Y2M` is 14), added first
  Duration fixed{0};  ///< weeks, days of 24 hours, and all shorter units
  std::string text;   ///< as written, for messages; empty if it was not parsed from a text

  /// Reads `PT1H`, `P1Y2M10DT2H30M`, `P1W`, `PT0.5S` (ISO 8601: capital letters, units in order, a
  /// fraction only in the last one and not of years or months, cut to the millisecond), or
  /// number–unit pairs as Steep has them: `10h 30 minutes`, `1d5h`, `500` (milliseconds). White
  /// space around the text is skipped. Zero is valid here; the caller decides whether to allow it.
  /// Errors name the text and the byte, counted from 0: `duration.malformed`, `duration.unit`
  /// (unknown), `duration.negative`, `duration.overflow` (more than 100 years).
  static Result<Span> parse(std::string_view text);

  bool is_zero() const { return months == 0 && fixed == Duration::zero(); }

  /// The time that is this span after `start`, in UTC: months first (31 January + P1M is the last
  /// day of February), then the fixed part. Both `start` and the result are limited to the years 0
  /// to 9999.
  TimePoint after(TimePoint start) const;

  /// Whether both spans mean the same duration, in whatever form they were written: `PT60S` equals
  /// `1m`; `P30D` does not equal `P1M`.
  friend bool operator==(const Span& a, const Span& b) {
    return a.months == b.months && a.fixed == b.fixed;
  }
};

/// The duration as a scenario has it: `1h30m`. Precondition: not negative.
std::string spelled(Duration time);

}  // namespace millrace
