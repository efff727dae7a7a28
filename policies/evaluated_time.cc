#include "policies/evaluated_time.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/big_integer.h"
#include "base/excerpt.h"
#include "policies/cron.h"
#include "policies/time_zone.h"

namespace millrace {
namespace {

/// The longest wait: 100 Julian years, as for every duration.
constexpr Duration kLongestUntil = std::chrono::days(36'525);

constexpr double kMillisecondsInSecond = 1000;

constexpr std::string_view kWantUntil =
    "expected a time in RFC 3339 with an offset, such as \"2027-01-01T09:00:00+01:00\", a number "
    "of "
    "seconds since 1970, or {cron, timezone}";

tl::unexpected<Error> invalid(std::string_view key, std::string_view why) {
  return fail(std::string(kDurationInvalid), fmt::format("{}: {}", key, why));
}

tl::unexpected<Error> too_far(std::string_view key, std::string_view time) {
  return invalid(key, fmt::format("{} is more than 100 years ahead", time));
}

Result<TimePoint> time_in_text(std::string_view key, const std::string& text) {
  const auto time = parse_rfc3339(text);
  if (time) return *time;
  return invalid(key, fmt::format("\"{}\" is not a time; {}", excerpt(text), kWantUntil));
}

Result<TimePoint> time_in_seconds(std::string_view key, double seconds, TimePoint now) {
  const double latest = static_cast<double>(to_millis(now + kLongestUntil)) / kMillisecondsInSecond;
  if (!(seconds <= latest)) return too_far(key, fmt::format("{} (seconds since 1970)", seconds));
  // What is long past is as much past as 1970, and has a time that fits into the calendar.
  if (seconds <= 0) return TimePoint{};
  return from_millis(std::llround(seconds * kMillisecondsInSecond));
}

/// A member of the schedule; nullopt: it is missing or null.
Result<std::optional<std::string>> text_of_member(std::string_view key, const Json& schedule,
                                                  const char* name) {
  const auto found = schedule.find(name);
  if (found == schedule.end() || found->is_null()) return std::optional<std::string>();
  if (found->is_string()) return std::optional(found->get<std::string>());
  return invalid(key,
                 fmt::format("{} has the type {}; expected a string", name, type_name_of(*found)));
}

Result<TimePoint> tick_of(std::string_view key, const Json& schedule, TimePoint now) {
  for (const auto& [name, value] : schedule.items()) {
    if (name == "cron" || name == "timezone") continue;
    return invalid(key, fmt::format("\"{}\" is not a key of a schedule; expected cron and timezone",
                                    excerpt(name)));
  }
  const auto cron = TRY(text_of_member(key, schedule, "cron"));
  const auto zone = TRY(text_of_member(key, schedule, "timezone"));
  if (!cron) return invalid(key, fmt::format("the schedule has no cron; {}", kWantUntil));
  if (const auto why = why_no_schedule(&*cron, zone ? &*zone : nullptr)) {
    return invalid(key, why->message);
  }
  const std::string text = zone ? fmt::format("CRON_TZ={} {}", *zone, *cron) : *cron;
  return TRY(Cron::parse(text)).next(now);
}

Result<TimePoint> time_in(std::string_view key, const LazyJson& value, TimePoint now) {
  if (value.is_large()) {
    return invalid(key, fmt::format("the value is too large for a time; {}", kWantUntil));
  }
  if (value.is_string()) return time_in_text(key, value.string());
  const Json& json = value.value();
  if (json.is_object()) return tick_of(key, json, now);
  if (json.is_number()) return time_in_seconds(key, json.get<double>(), now);
  if (is_big_integer(json)) {
    if (big_digits(json).starts_with('-')) return TimePoint{};
    return too_far(key, "a number of more than 64 bits");
  }
  return invalid(key, fmt::format("the value has the type {}; {}", value.type_name(), kWantUntil));
}

}  // namespace

Result<Span> span_of(std::string_view key, bool zero, const LazyJson& value) {
  if (!value.is_string()) {
    return invalid(
        key, fmt::format("the value has the type {}; expected the text of a duration, such as "
                         "\"PT1H\"",
                         value.type_name()));
  }
  auto span = Span::parse(value.string());
  if (!span) return invalid(key, span.error().message);
  if (span->is_zero() && !zero) {
    return invalid(key, fmt::format("\"{}\" is zero; it must be longer", excerpt(span->text)));
  }
  return std::move(*span);
}

Result<TimePoint> until_of(std::string_view key, const LazyJson& value, TimePoint now) {
  const TimePoint time = TRY(time_in(key, value, now));
  if (time > now + kLongestUntil) return too_far(key, format_rfc3339(time));
  return time;
}

Result<TimeValue> time_of(const EvaluatedTime& time, const LazyJson& value, TimePoint now) {
  if (time.form == EvaluatedTime::Form::kUntil) {
    return TimeValue{.at = TRY(until_of(time.key, value, now)), .span = std::nullopt};
  }
  Span span = TRY(span_of(time.key, time.zero, value));
  const TimePoint at = span.after(now);
  return TimeValue{.at = at, .span = std::move(span)};
}

std::optional<Error> why_no_schedule(const std::string* cron, const std::string* timezone) {
  if (timezone != nullptr) {
    if (const auto zone = TimeZone::find(*timezone); !zone) return zone.error();
  }
  if (cron == nullptr) return std::nullopt;
  if (timezone != nullptr && !Cron::zone_in(*cron).empty()) {
    return Error{"cron.malformed",
                 fmt::format("\"{}\" names a time zone, and so does timezone; write one of them",
                             excerpt(*cron))};
  }
  if (const auto read = Cron::parse(*cron); !read) return read.error();
  return std::nullopt;
}

}  // namespace millrace
