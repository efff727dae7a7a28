// EvaluatedTime: the length or the end of a wait in a definition that only the data of an instance
// decides: a duration with `jq(…)` in it, or `until`. The state evaluates its template once, when
// the instance enters it, and stores what time_of() makes of the value. Pure values, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/lazy_json.h"
#include "base/result.h"
#include "base/time.h"
#include "expressions/template.h"
#include "policies/duration.h"

namespace millrace {

/// The error of a value that is not a duration, or not an end of a wait.
inline constexpr std::string_view kDurationInvalid = "millrace.duration.invalid";

struct EvaluatedTime {
  enum class Form : uint8_t {
    kSpan,   ///< the text of a duration
    kUntil,  ///< as until_of() reads it
  };
  Form form = Form::kSpan;
  std::string key;    ///< the key in the definition, for messages
  bool zero = false;  ///< kSpan: the duration may be zero
  Template value;
};

/// A length of time in a definition: a constant, or one that depends on the data.
using WrittenTime = std::variant<Span, EvaluatedTime>;

/// The value of an EvaluatedTime.
struct TimeValue {
  TimePoint at;              ///< the end; of `until`, it may be before now
  std::optional<Span> span;  ///< set for Form::kSpan; a wait that restarts takes as long again
};

/// The duration in `value`, which must be a string that Span::parse reads; a number is an error.
/// Error: millrace.duration.invalid; its message begins with `key`.
Result<Span> span_of(std::string_view key, bool zero, const LazyJson& value);

/// The time in `value`: a string in RFC 3339 with an offset; a number of seconds since 1970, as
/// jq's `now` yields it; or an object `{cron, timezone}`, which stands for its next tick after
/// `now`. `timezone` may be missing: then the zone is that of `cron`, or UTC. The time is at most
/// 100 years after `now`, and may be before `now`. Error: millrace.duration.invalid; its message
/// begins with `key`.
Result<TimePoint> until_of(std::string_view key, const LazyJson& value, TimePoint now);

/// What the value of the template means for a wait that begins at `now`. Errors: those of span_of()
/// and until_of().
Result<TimeValue> time_of(const EvaluatedTime& time, const LazyJson& value, TimePoint now);

/// Why `cron`, in the time zone `timezone`, is not a schedule; nullopt: it is one. nullptr: the
/// part is not known, and is not checked. For a definition, in which either may be a template.
/// Errors: those of Cron::parse and TimeZone::find, and `cron.malformed` if both name a zone.
std::optional<Error> why_no_schedule(const std::string* cron, const std::string* timezone);

}  // namespace millrace
