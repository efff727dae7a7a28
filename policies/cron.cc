#include "policies/cron.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/excerpt.h"
#include "policies/duration.h"

namespace millrace {
namespace {

using namespace std::chrono;

constexpr TimePoint kLastTick = sys_days(year(10'000) / January / 1) - Duration(1);
constexpr uint64_t kEachHour = (uint64_t{1} << 24) - 1;
constexpr seconds kShortestEvery{1};

struct FieldRule {
  std::string_view name;
  unsigned min;
  unsigned max;
  std::array<std::string_view, 12> words{};  ///< names of the values min, min + 1, …
  bool is_day = false;                       ///< `?` may stand for `*`
};

constexpr std::array<FieldRule, 5> kFields = {{
    {"minute", 0, 59},
    {"hour", 0, 23},
    {.name = "day of month", .min = 1, .max = 31, .is_day = true},
    {"month",
     1,
     12,
     {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
    {"day of week", 0, 7, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}, true},
}};
constexpr const FieldRule* kWeekday = &kFields[4];
constexpr unsigned kSunday = 7;  ///< Sunday's second number, for the end of a range

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNamed = {{
    {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
    {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
}};
constexpr std::string_view kEvery = "@every";

bool is_word(std::string_view text, std::string_view word) {
  return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                    [](char a, char b) { return lower_case(a) == b; });
}

/// The number of days in each month, in a leap year; index 1 is January.
constexpr std::array<unsigned, 13> kDaysIn = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

/// The lowest set bit at or above `from`; 64 if there is none.
unsigned next_bit(uint64_t bits, unsigned from) {
  return from >= 64 ? 64 : static_cast<unsigned>(std::countr_zero(bits >> from << from));
}

/// The beginning of a text, up to the first white space or the end.
std::string_view first_word(std::string_view text) {
  return text.substr(
      0, static_cast<size_t>(std::find_if(text.begin(), text.end(), is_space) - text.begin()));
}

/// The text after `CRON_TZ=` or `TZ=`; nullopt if the text does not begin with either.
std::optional<std::string_view> behind_zone_mark(std::string_view text) {
  for (const std::string_view mark : {"CRON_TZ=", "TZ="}) {
    if (text.starts_with(mark)) return text.substr(mark.size());
  }
  return std::nullopt;
}

}  // namespace

/// Reads a cron expression. All pieces are views of the one text, so that an error can give the
/// byte offset.
class CronParser {
 public:
  explicit CronParser(std::string_view text) : text_(text) {}

  Result<Cron> parse() {
    std::string_view rest = trimmed(text_);
    cron_.text_ = std::string(rest);
    if (const auto zone = behind_zone_mark(rest)) {
      const std::string_view name = first_word(*zone);
      cron_.zone_ = TRY(TimeZone::find(name));
      rest = trimmed(zone->substr(name.size()));
    }
    if (!rest.starts_with('@')) {
      TRY(read_fields(rest));
    } else if (first_word(rest) == kEvery) {
      TRY(read_every(trimmed(rest.substr(kEvery.size()))));
    } else {
      TRY(read_named(rest));
    }
    return std::move(cron_);
  }

 private:
  /// The values that one entry of a field covers, both ends included.
  struct Range {
    unsigned first = 0;
    unsigned last = 0;
    bool is_star = false;
  };

  tl::unexpected<Error> refuse(std::string code, std::string_view field, std::string_view piece,
                               std::string_view why) const {
    return fail(std::move(code),
                fmt::format("\"{}\" is not a cron expression: {}{}\"{}\" {} (byte {})",
                            excerpt(text_), field, field.empty() ? "" : " ", excerpt(piece), why,
                            piece.data() - text_.data()));
  }

  Status read_named(std::string_view text) {
    for (const auto& [name, fields] : kNamed) {
      if (name == text) return read_fields(fields);
    }
    return refuse("cron.malformed", "", text,
                  "is not a known macro; use @hourly, @daily, @midnight, @weekly, @monthly, "
                  "@yearly, @annually or @every");
  }

  Status read_every(std::string_view text) {
    const Span span = TRY(Span::parse(text));
    if (span.months != 0 || span.fixed < kShortestEvery) {
      return refuse("cron.range", kEvery, text, "must be one second or longer, without months");
    }
    cron_.every_ = span.fixed;
    return {};
  }

  Status read_fields(std::string_view text) {
    std::array<uint64_t, kFields.size()> bits{};
    std::array<bool, kFields.size()> stars{};
    std::string_view rest = text;
    for (size_t i = 0; i < kFields.size(); ++i) {
      const std::string_view field = first_word(rest);
      if (field.empty()) {
        return refuse("cron.malformed", kFields[i].name, field,
                      "is missing: a schedule has five fields: minute, hour, day of month, month "
                      "and day of week");
      }
      TRY(read_field(kFields[i], field, bits[i], stars[i]));
      rest = trimmed(rest.substr(field.size()));
    }
    if (!rest.empty()) {
      return refuse("cron.malformed", "", rest,
                    "is one field too many: a schedule has five fields, without one for seconds");
    }
    if ((bits[4] & uint64_t{1} << kSunday) != 0) bits[4] |= 1;
    cron_.minutes_ = bits[0];
    cron_.hours_ = bits[1];
    cron_.days_ = bits[2];
    cron_.months_ = bits[3];
    cron_.weekdays_ = bits[4];
    cron_.any_day_ = stars[2];
    cron_.any_weekday_ = stars[4];
    if (cron_.any_weekday_ && !has_a_day()) {
      return refuse("cron.never", "", text, "names a day that does not exist in any of its months");
    }
    return {};
  }

  bool has_a_day() const {
    for (unsigned month = 1; month <= 12; ++month) {
      const bool is_in = (cron_.months_ >> month & 1) != 0;
      if (is_in && next_bit(cron_.days_, 1) <= kDaysIn[month]) return true;
    }
    return false;
  }

  Status read_field(const FieldRule& rule, std::string_view field, uint64_t& bits, bool& star) {
    for (size_t at = 0; at <= field.size();) {
      const size_t end = std::min(field.find(',', at), field.size());
      TRY(read_entry(rule, field.substr(at, end - at), bits, star));
      at = end + 1;
    }
    return {};
  }

  /// Reads `*`, `5` or `1-5`, each with or without a step after it: `5/15` means every 15th value
  /// from 5 on.
  Status read_entry(const FieldRule& rule, std::string_view entry, uint64_t& bits, bool& star) {
    const size_t slash = entry.find('/');
    const bool has_step = slash != std::string_view::npos;
    Range range = TRY(read_range(rule, entry.substr(0, slash), has_step));
    unsigned step = 1;
    if (has_step) {
      const std::string_view text = entry.substr(slash + 1);
      step = TRY(read_number(rule, text));
      if (step == 0) return refuse("cron.range", rule.name, text, "is not a step of 1 or more");
    }
    star = star || (range.is_star && step == 1);
    for (unsigned value = range.first; value <= range.last; value += std::min(step, 64U)) {
      bits |= uint64_t{1} << value;
    }
    return {};
  }

  Result<Range> read_range(const FieldRule& rule, std::string_view text, bool has_step) {
    // Sunday has two numbers, 0 and 7; a range that ends with Sunday uses 7.
    const unsigned last = &rule == kWeekday ? kSunday - 1 : rule.max;
    if (text == "*" || (text == "?" && rule.is_day)) return Range{rule.min, last, true};
    const size_t dash = text.find('-');
    Range range;
    range.first = TRY(read_value(rule, text.substr(0, dash)));
    if (dash == std::string_view::npos) {
      range.last = has_step ? std::max(last, range.first) : range.first;
      return range;
    }
    const std::string_view end = text.substr(dash + 1);
    range.last = TRY(read_value(rule, end));
    if (is_word(end, "sun") && range.first > 0) range.last = kSunday;
    if (range.last < range.first) {
      return refuse("cron.range", rule.name, text, "ends before it begins");
    }
    return range;
  }

  Result<unsigned> read_value(const FieldRule& rule, std::string_view text) {
    for (unsigned i = 0; i < rule.words.size() && !rule.words[i].empty(); ++i) {
      if (is_word(text, rule.words[i])) return rule.min + i;
    }
    const unsigned value = TRY(read_number(rule, text));
    if (value >= rule.min && value <= rule.max) return value;
    return refuse("cron.range", rule.name, text,
                  fmt::format("is not within {} to {}", rule.min, rule.max));
  }

  Result<unsigned> read_number(const FieldRule& rule, std::string_view text) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return value;
    if (error == std::errc::result_out_of_range) {
      return refuse("cron.range", rule.name, text, "is too large");
    }
    return refuse("cron.malformed", rule.name, text,
                  rule.words[0].empty() ? "is not a number" : "is neither a number nor a name");
  }

  std::string_view text_;
  Cron cron_;
};

Result<Cron> Cron::parse(std::string_view text) { return CronParser(text).parse(); }

std::string_view Cron::zone_in(std::string_view text) {
  const auto zone = behind_zone_mark(trimmed(text));
  return zone ? first_word(*zone) : std::string_view();
}

TimePoint Cron::next(TimePoint after) const {
  if (every_ > Duration::zero()) return std::min(after + every_, kLastTick);
  return std::min(hours_ == kEachHour ? next_of_each_hour(after) : next_of_some_hours(after),
                  kLastTick);
}

TimePoint Cron::caught_up(TimePoint tick, TimePoint now) const {
  if (every_ == Duration::zero() || now <= tick) return std::max(tick, now);
  return tick + (now - tick) / every_ * every_;
}

TimePoint Cron::next_of_each_hour(TimePoint after) const {
  TimePoint from = after + Duration(1);
  while (true) {
    const TimeZone::Stretch stretch = zone_.around(from);
    const auto local = match(ceil<minutes>(stretch.local(from)));
    if (!local) return kLastTick;
    if (const TimePoint at = stretch.utc(*local); at < stretch.end) return at;
    from = stretch.end;
  }
}

TimePoint Cron::next_of_some_hours(TimePoint after) const {
  auto local = match(floor<minutes>(zone_.around(after).local(after)));
  while (local) {
    // When clocks are set back, a local time that was first shown before `after` comes again. Only
    // the first occurrence counts, so the second one is skipped here.
    if (const TimePoint at = zone_.first(*local); at > after) return at;
    local = match(*local + minutes(1));
  }
  return kLastTick;
}

/// The first local time, at the minute `from` or later, that matches the fields; nullopt if there
/// is none before the year 10000.
std::optional<LocalTime> Cron::match(LocalTime from) const {
  local_days day = floor<days>(from);
  auto since_midnight = from - day;
  while (true) {
    const year_month_day date(day);
    if (date.year() >= year(10'000)) return std::nullopt;
    if ((months_ >> static_cast<unsigned>(date.month()) & 1) == 0) {
      day = local_days(date.year() / date.month() / 1 + std::chrono::months(1));
      since_midnight = {};
      continue;
    }
    if (ticks_on(day, date.day())) {
      const hh_mm_ss time(since_midnight);
      auto first_minute = static_cast<unsigned>(time.minutes().count());
      const auto first_hour = static_cast<unsigned>(time.hours().count());
      for (unsigned hour = next_bit(hours_, first_hour); hour < 24;
           hour = next_bit(hours_, hour + 1)) {
        const unsigned minute = next_bit(minutes_, hour == first_hour ? first_minute : 0);
        if (minute < 60) return day + hours(hour) + minutes(minute);
      }
    }
    day += days(1);
    since_midnight = {};
  }
}

bool Cron::ticks_on(local_days day, std::chrono::day of_month) const {
  const bool by_month = (days_ >> static_cast<unsigned>(of_month) & 1) != 0;
  const bool by_week = (weekdays_ >> weekday(day).c_encoding() & 1) != 0;
  return any_day_ || any_weekday_ ? by_month && by_week : by_month || by_week;
}

}  // namespace millrace
