#include "policies/duration.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/excerpt.h"

namespace millrace {
namespace {

using namespace std::chrono;

/// The longest duration: 100 Julian years, in milliseconds. A month counts as its Gregorian mean,
/// so that P100Y is just within the limit.
constexpr int64_t kLongest = Duration(days(36525)).count();
constexpr int64_t kMeanMonth = 2'629'746'000;

constexpr TimePoint kFirst = sys_days(year(0) / January / 1);
constexpr TimePoint kLast = sys_days(year(10'000) / January / 1) - Duration(1);

struct Unit {
  std::string_view name;
  int64_t millis;  ///< 0: the unit is in months
  int months = 0;
};

constexpr int64_t kSecond = 1000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = 24 * kHour;

/// The units of number–unit pairs (Steep, "Durations").
constexpr std::array kPairUnits = std::to_array<Unit>({
    {"milliseconds", 1},  {"millisecond", 1},  {"millis", 1},     {"milli", 1},     {"ms", 1},
    {"seconds", kSecond}, {"second", kSecond}, {"secs", kSecond}, {"sec", kSecond}, {"s", kSecond},
    {"minutes", kMinute}, {"minute", kMinute}, {"mins", kMinute}, {"min", kMinute}, {"m", kMinute},
    {"hours", kHour},     {"hour", kHour},     {"hrs", kHour},    {"hr", kHour},    {"h", kHour},
    {"days", kDay},       {"day", kDay},       {"d", kDay},
});

/// The units of ISO 8601, in the order in which they must be written.
constexpr std::array kIsoDateUnits =
    std::to_array<Unit>({{"Y", 0, 12}, {"M", 0, 1}, {"W", 7 * kDay}, {"D", kDay}});
constexpr std::array kIsoTimeUnits =
    std::to_array<Unit>({{"H", kHour}, {"M", kMinute}, {"S", kSecond}});

/// Parses a duration. A member function that returns bool returns whether to continue; if it
/// returns false, error_ has the reason.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), end_(text.size()) {}

  Result<Span> parse() {
    while (end_ > 0 && is_space(text_[end_ - 1])) --end_;
    skip_space();
    if (!read()) return tl::unexpected(std::move(error_));
    span_.text = std::string(text_);
    return std::move(span_);
  }

 private:
  /// A number, with at most nine digits of its fraction; further digits are ignored.
  struct Number {
    size_t at = 0;
    int64_t whole = 0;
    int64_t billionths = 0;
    bool has_fraction = false;
  };

  char peek() const { return at_ < end_ ? text_[at_] : '\0'; }
  void skip_space() {
    while (is_space(peek())) ++at_;
  }

  bool refuse(std::string code, std::string_view why) {
    error_ = {std::move(code),
              fmt::format("\"{}\" is not a duration: {} (byte {})", excerpt(text_), why, at_)};
    return false;
  }
  bool malformed(std::string_view why) { return refuse("duration.malformed", why); }

  bool read() {
    if (at_ == end_) return malformed("it is empty");
    return peek() == 'P' ? iso() : pairs();
  }

  bool number(Number& out) {
    if (peek() == '-') return refuse("duration.negative", "it must not be negative");
    if (!is_digit(peek())) return malformed("expected a number here, as in 10s or PT10S");
    out.at = at_;
    for (; is_digit(peek()); ++at_) {
      // The number is capped just above kLongest, which is too long even in milliseconds: so a
      // number with more digits is refused too and cannot overflow.
      out.whole = std::min(out.whole * 10 + (peek() - '0'), kLongest + 1);
    }
    return true;
  }

  bool fraction(Number& out) {
    if (peek() != '.' && peek() != ',') return true;
    ++at_;
    if (!is_digit(peek())) return malformed("a digit must follow the decimal sign");
    out.has_fraction = true;
    for (int64_t place = 100'000'000; is_digit(peek()); place /= 10, ++at_) {
      out.billionths += (peek() - '0') * place;
    }
    return true;
  }

  bool add(const Number& number, const Unit& unit) {
    const int64_t millis_each = unit.millis > 0 ? unit.millis : unit.months * kMeanMonth;
    const int64_t left = kLongest - span_.fixed.count() - span_.months * kMeanMonth;
    const int64_t part = number.billionths * millis_each / 1'000'000'000;
    if (number.whole > left / millis_each || number.whole * millis_each + part > left) {
      at_ = number.at;
      return refuse("duration.overflow", "it is longer than 100 years");
    }
    if (unit.millis > 0) {
      span_.fixed += Duration(number.whole * unit.millis + part);
    } else {
      span_.months += static_cast<int>(number.whole) * unit.months;
    }
    return true;
  }

  bool pairs() {
    while (at_ < end_) {
      Number amount;
      if (!number(amount)) return false;
      if (peek() == '.' || peek() == ',') {
        return malformed(
            "only a whole number may stand before a unit; for a fraction use ISO 8601, such as "
            "PT1.5H");
      }
      skip_space();
      const size_t begin = at_;
      while (is_letter(peek())) ++at_;
      const std::string_view name = text_.substr(begin, at_ - begin);
      const Unit* const unit = find(kPairUnits, name.empty() ? "ms" : name);
      if (unit == nullptr) {
        at_ = begin;
        return refuse("duration.unit",
                      fmt::format("\"{}\" is not a unit; write ms, s, m, h or d", excerpt(name)));
      }
      if (!add(amount, *unit)) return false;
      skip_space();
    }
    return true;
  }

  bool iso() {
    ++at_;
    if (peek() != 'T' &&
        !iso_part(kIsoDateUnits, "Y, M, W or D (H, M and S must come after a T)")) {
      return false;
    }
    if (peek() != 'T') return true;
    ++at_;
    return iso_part(kIsoTimeUnits, "H, M or S") &&
           (at_ == end_ || malformed("only one T is allowed"));
  }

  /// Reads one or more numbers, each with a unit that comes later in `units` than the unit before
  /// it.
  template <size_t N>
  bool iso_part(const std::array<Unit, N>& units, std::string_view names) {
    const Unit* next = units.data();
    do {
      Number amount;
      if (!number(amount) || !fraction(amount)) return false;
      const Unit* const unit = find(units, text_.substr(at_, at_ < end_ ? 1 : 0));
      if (unit == nullptr) {
        return refuse("duration.unit", fmt::format("expected a unit here: {}", names));
      }
      if (unit < next) return malformed("units go from the longest to the shortest, each once");
      next = unit + 1;
      if (amount.has_fraction && unit->millis == 0) {
        return malformed("years and months must be whole");
      }
      ++at_;
      if (amount.has_fraction && at_ < end_) {
        return malformed("only the last number may have a fraction");
      }
      if (!add(amount, *unit)) return false;
    } while (at_ < end_ && peek() != 'T');
    return true;
  }

  template <size_t N>
  static const Unit* find(const std::array<Unit, N>& units, std::string_view name) {
    for (const Unit& unit : units) {
      if (unit.name == name) return &unit;
    }
    return nullptr;
  }

  std::string_view text_;
  size_t end_;  ///< where trailing white space begins
  size_t at_ = 0;
  Span span_;
  Error error_;
};

}  // namespace

Result<Span> Span::parse(std::string_view text) { return Parser(text).parse(); }

TimePoint Span::after(TimePoint start) const {
  // A Span that was not parsed may hold any numbers. These bounds are beyond both ends of the
  // calendar.
  constexpr int kMostMonths = 10'000 * 12;
  constexpr Duration kMostFixed = kLast - kFirst;
  TimePoint time = std::clamp(start, kFirst, kLast);
  if (months != 0) {
    const auto day = floor<days>(time);
    const std::chrono::months step(std::clamp(months, -kMostMonths, kMostMonths));
    year_month_day date = year_month_day(day) + step;
    if (!date.ok()) date = date.year() / date.month() / last;
    time = sys_days(date) + (time - day);
  }
  return std::clamp(time + std::clamp(fixed, -kMostFixed, kMostFixed), kFirst, kLast);
}

std::string spelled(Duration time) {
  constexpr std::array<std::pair<std::string_view, int64_t>, 5> kUnits{
      {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
  std::string text;
  int64_t left = time.count();
  for (const auto& [unit, size] : kUnits) {
    if (left >= size) text += fmt::format("{}{}", left / size, unit);
    left %= size;
  }
  return text.empty() ? "0s" : text;
}

}  // namespace millrace
