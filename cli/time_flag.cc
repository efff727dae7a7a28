#include "cli/time_flag.h"

#include <optional>

#include <fmt/format.h>

#include "cli/quantity.h"
#include "policies/duration.h"

namespace millrace {
namespace {

/// A duration without months; nullopt: the text is none, or a number of it has no unit.
std::optional<Duration> fixed_duration(const std::string& text) {
  const Fallible<Span> span = read_span("", text);
  if (!span || span->months != 0) return std::nullopt;
  return span->fixed;
}

}  // namespace

Fallible<std::string> time_of_flag(std::string_view flag, const std::string& text, TimePoint now) {
  if (text.empty() || parse_rfc3339(text)) return text;
  if (const auto ago = fixed_duration(text)) return format_rfc3339(now - *ago);
  return wrong_usage(fmt::format(
      "{} {}: expected how long ago (2h) or a time (2021-09-01T12:00:00Z)", flag, text));
}

Fallible<std::string> coming_time_of_flag(std::string_view flag, const std::string& text,
                                          TimePoint now) {
  if (text.empty() || parse_rfc3339(text)) return text;
  if (const auto later = fixed_duration(text)) return format_rfc3339(now + *later);
  return wrong_usage(fmt::format(
      "{} {}: expected how long from now (2h) or a time (2021-09-01T12:00:00Z)", flag, text));
}

void add_event_window(Verb& verb, std::string& since, std::string& until) {
  verb.option(
      "--since", since,
      "Only events that were stored then or later: a time in RFC 3339, or how long ago (10m)",
      "WHEN");
  verb.option("--until", until, "Only events that were stored before: a time, or how long ago",
              "WHEN");
}

}  // namespace millrace
