// Durations in both forms, and the times that they end at.
// Covers: policies/duration.cc base/excerpt.cc
#include <chrono>
#include <cstdint>

#include <fmt/format.h>

#include "base/time.h"
#include "policies/duration.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

/// 100 years of Gregorian mean length and a day, in milliseconds.
constexpr int64_t kMostSpanMillis = Duration(std::chrono::days(36'526)).count();
constexpr int64_t kMeanMonthMillis = 2'629'746'000;

void check_span(const Span& span) {
  CHECK(span.months >= 0 && span.fixed >= Duration::zero(), "{} is negative", span.text);
  CHECK(span.months * kMeanMonthMillis + span.fixed.count() <= kMostSpanMillis,
        "{} is longer than 100 years", span.text);
  for (const TimePoint start :
       {TimePoint(), from_millis(1'630'454'400'000), from_millis(1'709'164'800'000)}) {
    const TimePoint end = span.after(start);
    CHECK(end >= start, "{} ends before it begins", span.text);
    CHECK(span.is_zero() == (end == start), "{} after {} is {}", span.text, format_rfc3339(start),
          format_rfc3339(end));
    if (span.months == 0) CHECK(end - start == span.fixed, "{} has another length", span.text);
  }
}

}  // namespace

FUZZ_TARGET(durations) {
  const Result<Span> span = Span::parse(bytes);
  if (!span) {
    check_shown_error(span.error());
    CHECK(span.error().code.starts_with("duration."), "{}", span.error().code);
    return;
  }
  CHECK(span->text == bytes, "the text of a span is not the text that was parsed");
  check_span(*span);
  const Result<Span> spaced = Span::parse(" \t" + std::string(bytes) + "\n ");
  CHECK(spaced && *spaced == *span, "white space around {} changes it", span->text);
  const Result<Span> again = span->months == 0
                                 ? Span::parse(fmt::format("{}ms", span->fixed.count()))
                                 : Span::parse(fmt::format("P{}M", span->months));
  CHECK(again, "{}", again.error().message);
  CHECK(again->months == span->months, "{} has {} months", span->text, again->months);
  if (span->months == 0) CHECK(*again == *span, "{} is not its milliseconds", span->text);
}

}  // namespace millrace::fuzz
