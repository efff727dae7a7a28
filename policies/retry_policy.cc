#include "policies/retry_policy.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"

namespace millrace {
namespace {

constexpr Duration kLongestWait = std::chrono::hours(24) * 36'525;

}  // namespace

Result<CodePattern> CodePattern::compile(std::string_view text) {
  CodePattern pattern;
  pattern.text_ = text;
  if (text != "*") pattern.pattern_ = TRY(Pattern::compile(text));
  return pattern;
}

double draw_from(std::initializer_list<std::string_view> parts) {
  const Fingerprint print = fingerprint(parts);
  constexpr int kBits = 32;
  uint64_t drawn = 0;
  for (int i = 0; i < kBits / 8; ++i) drawn = drawn << 8 | print[static_cast<size_t>(i)];
  return std::ldexp(static_cast<double>(drawn), -kBits);
}

bool RetryPolicy::covers(std::string_view code) const {
  if (std::find(never.begin(), never.end(), code) != never.end()) return false;
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const CodePattern& pattern) {
           return pattern.matches(code);
         });
}

TimePoint RetryPolicy::next_at(uint32_t attempt, TimePoint now, double draw,
                               const std::optional<Span>& evaluated) const {
  const auto span = [&](const Span& one) {
    return static_cast<double>((one.after(now) - now).count());
  };
  const double first = span(evaluated ? *evaluated : delay);
  if (first == 0) return now;  // 0 times an infinite power of the factor would be no number
  const auto longest = static_cast<double>(kLongestWait.count());
  const double bound = max_delay ? std::min(span(*max_delay), longest) : longest;
  const double wait = std::min(first * std::pow(factor, attempt - 1.0), bound);
  return now + Duration(static_cast<int64_t>(wait * (1 - jitter * draw)));
}

}  // namespace millrace
