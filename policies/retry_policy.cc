#include "policies/retry_policy.h"

#include <algorithm>
#include <cmath>

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

bool RetryPolicy::covers(std::string_view code) const {
  return std::any_of(codes.begin(), codes.end(),
                     [&](const CodePattern& pattern) { return pattern.matches(code); });
}

TimePoint RetryPolicy::next_at(uint32_t attempt, TimePoint now) const {
  const Duration first = delay.after(now) - now;
  const double wait = static_cast<double>(first.count()) * std::pow(factor, attempt - 1.0);
  const auto longest = static_cast<double>(kLongestWait.count());
  // The comparison is false for what is no number, too: 0 times infinity.
  if (!(wait < longest)) return now + (first.count() == 0 ? Duration(0) : kLongestWait);
  return now + Duration(static_cast<int64_t>(wait));
}

}  // namespace millrace
