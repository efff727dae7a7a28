// When something that failed is tried again, and how long to wait before. Which attempt it was is
// the caller's to count and to keep. Immutable, any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "matchers/pattern.h"
#include "policies/duration.h"

namespace millrace {

/// An error code that a policy takes: an ECMAScript pattern, searched; a lone `*` is any.
class CodePattern {
 public:
  /// Errors are those of Pattern::compile.
  static Result<CodePattern> compile(std::string_view text);

  bool matches(std::string_view code) const { return !pattern_ || pattern_->matches(code); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::shared_ptr<const Pattern> pattern_;  ///< null: any
};

/// A draw for RetryPolicy::next_at, from 0 up to 1: the same for the same parts, so that the same
/// inputs make the same waits.
double draw_from(std::initializer_list<std::string_view> parts);

struct RetryPolicy {
  /// In all, the first included; 0: not even that one, what is to be done is passed over; nullopt:
  /// without end.
  std::optional<uint32_t> attempts = 1;
  Span delay;                     ///< after the first attempt
  double factor = 1;              ///< the delay grows by it with each further one; above 0
  std::optional<Span> max_delay;  ///< no wait is longer
  double jitter = 0;              ///< 0 to 1: a wait is drawn from [(1 - jitter) · wait, wait]
  /// How long after the first attempt was scheduled another one may begin.
  std::optional<Span> window;

  /// Error codes that are tried again; none: all of them.
  std::vector<CodePattern> only;
  /// Error codes that are not, as they are.
  std::vector<std::string> never;

  /// Whether it is asked first, or only where no `catch` takes the error.
  enum class Asked : uint8_t { kBeforeCatch, kAfterCatch };
  Asked asked = Asked::kBeforeCatch;

  /// What is raised when the last attempt has failed.
  enum class UsedUp : uint8_t {
    kExceeded,    ///< direktiv.retries.exceeded, the last code and text in its message
    kLast,        ///< the last error
    kStepFailed,  ///< its code, with "Step '<state>' failed after <n> attempts: <its message>"
  };
  UsedUp used_up = UsedUp::kLast;

  /// Whether an error of that code may be tried again, while attempts are left.
  bool covers(std::string_view code) const;

  /// Whether there is an attempt after this one (counted from 1).
  bool allows_after(uint32_t attempt) const { return !attempts || attempt < *attempts; }

  /// Whether what was scheduled first at that time may be tried again at this one.
  bool allows_at(TimePoint first, TimePoint at) const {
    return !window || at <= window->after(first);
  }

  /// When the attempt after this one is due if this one failed now:
  /// min(delay · factor^(attempt−1), max_delay) later, of which `draw` (0 up to 1) takes up to the
  /// jitter's share away; cut to the millisecond, at most 100 years.
  TimePoint next_at(uint32_t attempt, TimePoint now, double draw = 0) const;
};

}  // namespace millrace
