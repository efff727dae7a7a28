// RetryPolicy: whether an attempt follows a failed attempt, and after which wait. The caller counts
// the attempts and stores the count. Immutable, any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "expressions/template.h"
#include "matchers/pattern.h"
#include "policies/duration.h"

namespace millrace {

/// A pattern of error codes: an ECMAScript regular expression that is searched for in the code; a
/// lone `*` matches any code.
class CodePattern {
 public:
  /// Errors are those of Pattern::compile.
  static Result<CodePattern> compile(std::string_view text);

  bool matches(std::string_view code) const { return !pattern_ || pattern_->matches(code); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::shared_ptr<const Pattern> pattern_;  ///< null: matches any code
};

/// The `draw` of RetryPolicy::next_at: a number from 0 to below 1. The number is computed from
/// `parts`, not at random, so the same parts give the same wait.
double draw_from(std::initializer_list<std::string_view> parts);

struct RetryPolicy {
  /// Attempts in all, including the first. 0: no attempt is made, the action is skipped. nullopt:
  /// no limit.
  std::optional<uint32_t> attempts = 1;
  Span delay;  ///< the wait after the first attempt
  /// Yields the text of `delay` at each failure, over the data with the error as `.error`; then
  /// `delay` itself is zero. All its programs are of the fast lane. nullopt: `delay` is a constant.
  std::optional<Template> delay_template;
  double factor = 1;  ///< each wait is this many times as long as the previous wait; above 0
  std::optional<Span> max_delay;  ///< the longest wait; nullopt: no limit but 100 years
  double jitter = 0;              ///< 0 to 1: a wait is drawn from [(1 - jitter) · wait, wait]
  /// The span in which attempts may start, counted from the time of the first attempt; nullopt: no
  /// limit.
  std::optional<Span> window;

  /// Patterns of the error codes that are retried; empty: all codes are retried.
  std::vector<CodePattern> only;
  /// Error codes that are never retried, compared for equality.
  std::vector<std::string> never;

  /// When the policy applies: before `catch`, or only if no `catch` matches the error.
  enum class Asked : uint8_t { kBeforeCatch, kAfterCatch };
  Asked asked = Asked::kBeforeCatch;

  /// The error that is raised when the last attempt has failed.
  enum class UsedUp : uint8_t {
    kExceeded,    ///< direktiv.retries.exceeded; its message has the last error's code and message
    kLast,        ///< the last error
    kStepFailed,  ///< the code of the last error, with "Step '<state>' failed after <n> attempts:
                  ///< <its message>"
  };
  UsedUp used_up = UsedUp::kLast;

  /// Whether an error with this code may be retried, if attempts are left.
  bool covers(std::string_view code) const;

  /// Whether another attempt may follow attempt `attempt` (counted from 1).
  bool allows_after(uint32_t attempt) const { return !attempts || attempt < *attempts; }

  /// Whether another attempt may start at time `at` if the first attempt was scheduled at time
  /// `first`.
  bool allows_at(TimePoint first, TimePoint at) const {
    return !window || at <= window->after(first);
  }

  /// When the next attempt is due if attempt `attempt` (counted from 1) failed at `now`: min(delay
  /// · factor^(attempt−1), max_delay) later. The jitter shortens that wait by the fraction jitter ·
  /// draw (0 <= draw < 1). The wait is cut to the millisecond and is at most 100 years.
  /// `evaluated`: the value of `delay_template`, in the place of `delay`.
  TimePoint next_at(uint32_t attempt, TimePoint now, double draw = 0,
                    const std::optional<Span>& evaluated = std::nullopt) const;

  /// Whether it is known only at a failure how long the waits are.
  bool has_evaluated_delay() const { return delay_template.has_value(); }
};

}  // namespace millrace
