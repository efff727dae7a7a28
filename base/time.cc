#include "base/time.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/excerpt.h"

namespace millrace {
namespace {

using namespace std::chrono;

/// The bounds of the times that format_rfc3339() can write and that the store can keep.
constexpr TimePoint kFirstInUtc = sys_days(year(0) / January / 1);
constexpr TimePoint kLastInUtc = sys_days(year(10'000) / January / 1) - Duration(1);

/// Writes the last `digits` decimal digits of a number at the place `at`.
void put_digits(std::string& text, size_t at, size_t digits, uint64_t number) {
  for (; digits > 0; number /= 10) text[at + --digits] = static_cast<char>('0' + number % 10);
}

/// Removes exactly `digits` decimal digits from the front of `text` and returns their value; -1 if
/// the text does not begin with `digits` digits.
int take_number(std::string_view& text, size_t digits) {
  if (text.size() < digits) return -1;
  int value = 0;
  for (size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take_char(std::string_view& text, std::string_view any_of) {
  if (text.empty()) return false;
  for (const char c : any_of) {
    if (text.front() != c) continue;
    text.remove_prefix(1);
    return true;
  }
  return false;
}

}  // namespace

// Most events get a time, so this is written for speed.
std::string format_rfc3339(TimePoint time) {
  time = std::clamp(time, kFirstInUtc, kLastInUtc);
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  std::string text = "0000-00-00T00:00:00.000Z";
  put_digits(text, 0, 4, static_cast<uint64_t>(static_cast<int>(date.year())));
  put_digits(text, 5, 2, static_cast<unsigned>(date.month()));
  put_digits(text, 8, 2, static_cast<unsigned>(date.day()));
  put_digits(text, 11, 2, static_cast<uint64_t>(clock.hours().count()));
  put_digits(text, 14, 2, static_cast<uint64_t>(clock.minutes().count()));
  put_digits(text, 17, 2, static_cast<uint64_t>(clock.seconds().count()));
  put_digits(text, 20, 3, static_cast<uint64_t>(clock.subseconds().count()));
  return text;
}

Result<TimePoint> parse_rfc3339(std::string_view text) {
  const auto malformed = [&] {
    return fail(
        "time.malformed",
        fmt::format("\"{}\" is not an RFC 3339 time; expected one such as 2021-09-01T12:00:00Z",
                    excerpt(text)));
  };
  std::string_view rest = text;
  const int year_number = take_number(rest, 4);
  if (year_number < 0 || !take_char(rest, "-")) return malformed();
  const int month_number = take_number(rest, 2);
  if (month_number < 0 || !take_char(rest, "-")) return malformed();
  const int day_number = take_number(rest, 2);
  if (day_number < 0 || !take_char(rest, "Tt ")) return malformed();
  const int hour = take_number(rest, 2);
  if (hour < 0 || hour > 23 || !take_char(rest, ":")) return malformed();
  const int minute = take_number(rest, 2);
  if (minute < 0 || minute > 59 || !take_char(rest, ":")) return malformed();
  const int second = take_number(rest, 2);
  if (second < 0 || second > 60) return malformed();

  int millis = 0;
  if (take_char(rest, ".")) {
    int scale = 100;
    size_t digits = 0;
    for (; !rest.empty() && rest.front() >= '0' && rest.front() <= '9'; ++digits) {
      millis += (rest.front() - '0') * scale;
      scale /= 10;
      rest.remove_prefix(1);
    }
    if (digits == 0) return malformed();
  }

  minutes offset{0};
  if (!take_char(rest, "Zz")) {
    if (rest.empty()) return malformed();
    const bool west = rest.front() == '-';
    if (!take_char(rest, "+-")) return malformed();
    const int offset_hour = take_number(rest, 2);
    if (offset_hour < 0 || offset_hour > 23 || !take_char(rest, ":")) return malformed();
    const int offset_minute = take_number(rest, 2);
    if (offset_minute < 0 || offset_minute > 59) return malformed();
    offset = minutes(offset_hour * 60 + offset_minute) * (west ? -1 : 1);
  }
  if (!rest.empty()) return malformed();

  const year_month_day date{year(year_number), month(static_cast<unsigned>(month_number)),
                            day(static_cast<unsigned>(day_number))};
  if (!date.ok()) return malformed();
  const TimePoint time = sys_days(date) + hours(hour) + minutes(minute) - offset + seconds(second) +
                         milliseconds(millis);
  return std::clamp(time, kFirstInUtc, kLastInUtc);
}

}  // namespace millrace
