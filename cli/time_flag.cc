#include "cli/time_flag.h"

#include <fmt/format.h>

#include "policies/duration.h"

namespace millrace {

Fallible<std::string> time_of_flag(std::string_view flag, const std::string& text, TimePoint now) {
  if (text.empty() || parse_rfc3339(text)) return text;
  if (const Result<Span> span = Span::parse(text); span && span->months == 0) {
    return format_rfc3339(now - span->fixed);
  }
  return wrong_usage(fmt::format(
      "{} {}: expected how long ago (2h) or a time (2021-09-01T12:00:00Z)", flag, text));
}

}  // namespace millrace
