// The vocabularies in which retry policies and timeouts of actions may be written: those of five
// systems. Each is a table: which key says which part of a RetryPolicy or TimeoutPolicy, in which
// unit, within which bounds, and what it is where it is absent. The grammar's tables are made from
// these (language/grammar.cc), and language/policy_fields.h reads by them. Constants, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policies/retry_policy.h"
#include "policies/timeout_policy.h"

namespace millrace {

/// In the order of RetryVocabulary's tables.
enum class Vocabulary : uint8_t { kDirektiv, kSteep, kTemporal, kStevora, kZart };

// Retries.

/// A key of a retry policy.
struct RetryKey {
  /// The part of the policy that it says.
  enum class Part : uint8_t { kAttempts, kDelay, kFactor, kMaxDelay, kOnly, kNever };
  /// What stands behind it.
  enum class Unit : uint8_t {
    kCount,         ///< a whole number
    kFactor,        ///< a number
    kSpan,          ///< a duration
    kSpanOrNumber,  ///< a duration, or a whole number of milliseconds
    kMilliseconds,  ///< a whole number
    kPatterns,      ///< a list of patterns of error codes
    kCodes,         ///< a list of codes
  };

  std::string_view name;
  Part part;
  Unit unit;
  std::string_view meaning;  ///< one sentence
  bool required = false;
  std::string_view otherwise = {};  ///< what it is where it is absent, as one would write it
  std::optional<int64_t> min = {};
  std::optional<int64_t> max = {};
  bool above_min = false;          ///< min itself is too little
  std::string_view spelling = {};  ///< another name of it
};

inline constexpr int64_t kMostAttempts = INT32_MAX;
/// 100 years, the longest of all durations.
inline constexpr int64_t kMostMilliseconds = int64_t{36'525} * 24 * 3600 * 1000;

inline constexpr std::array kDirektivRetry = std::to_array<RetryKey>({
    {.name = "max_attempts",
     .part = RetryKey::Part::kAttempts,
     .unit = RetryKey::Unit::kCount,
     .meaning = "How often it is tried again after the first attempt.",
     .required = true,
     .min = 0,
     .max = 1'000'000},
    {.name = "delay",
     .part = RetryKey::Part::kDelay,
     .unit = RetryKey::Unit::kSpan,
     .meaning = "The wait before the second attempt.",
     .otherwise = "PT0S"},
    {.name = "multiplier",
     .part = RetryKey::Part::kFactor,
     .unit = RetryKey::Unit::kFactor,
     .meaning = "By how much each wait is longer than the one before; more than zero.",
     .otherwise = "1",
     .min = 0,
     .above_min = true},
    {.name = "codes",
     .part = RetryKey::Part::kOnly,
     .unit = RetryKey::Unit::kPatterns,
     .meaning = "Which error codes are tried again; \"*\" alone is any.",
     .required = true},
});

inline constexpr std::array kSteepRetry = std::to_array<RetryKey>({
    {.name = "maxAttempts",
     .part = RetryKey::Part::kAttempts,
     .unit = RetryKey::Unit::kCount,
     .meaning = "How many attempts in all; -1 is without end, 0 passes over the action.",
     .otherwise = "1",
     .min = -1,
     .max = kMostAttempts},
    {.name = "delay",
     .part = RetryKey::Part::kDelay,
     .unit = RetryKey::Unit::kSpanOrNumber,
     .meaning = "The wait before the second attempt.",
     .otherwise = "0"},
    {.name = "exponentialBackoff",
     .part = RetryKey::Part::kFactor,
     .unit = RetryKey::Unit::kFactor,
     .meaning = "By how much each wait is longer than the one before; more than zero.",
     .otherwise = "1",
     .min = 0,
     .above_min = true},
    {.name = "maxDelay",
     .part = RetryKey::Part::kMaxDelay,
     .unit = RetryKey::Unit::kSpanOrNumber,
     .meaning = "The longest wait, where exponentialBackoff is above 1; without it there is none."},
});

inline constexpr std::array kTemporalRetry = std::to_array<RetryKey>({
    {.name = "maximumAttempts",
     .part = RetryKey::Part::kAttempts,
     .unit = RetryKey::Unit::kCount,
     .meaning = "How many attempts in all; 0 is without end, for ten years.",
     .otherwise = "0",
     .min = 0,
     .max = kMostAttempts},
    {.name = "initialInterval",
     .part = RetryKey::Part::kDelay,
     .unit = RetryKey::Unit::kSpan,
     .meaning = "The wait before the second attempt.",
     .otherwise = "1s"},
    {.name = "backoffCoefficient",
     .part = RetryKey::Part::kFactor,
     .unit = RetryKey::Unit::kFactor,
     .meaning = "By how much each wait is longer than the one before; more than zero.",
     .otherwise = "2.0",
     .min = 0,
     .above_min = true},
    {.name = "maximumInterval",
     .part = RetryKey::Part::kMaxDelay,
     .unit = RetryKey::Unit::kSpan,
     .meaning = "The longest wait; without it 100 times the initialInterval."},
    {.name = "nonRetryableErrors",
     .part = RetryKey::Part::kNever,
     .unit = RetryKey::Unit::kCodes,
     .meaning = "Error codes that are not tried again.",
     .spelling = "nonRetryableErrorTypes"},
});

inline constexpr std::array kStevoraRetry = std::to_array<RetryKey>({
    {.name = "maxAttempts",
     .part = RetryKey::Part::kAttempts,
     .unit = RetryKey::Unit::kCount,
     .meaning = "How many attempts in all.",
     .otherwise = "3",
     .min = 1,
     .max = 20},
    {.name = "backoffMs",
     .part = RetryKey::Part::kDelay,
     .unit = RetryKey::Unit::kMilliseconds,
     .meaning = "The wait before the second attempt, in milliseconds; up to a quarter less by lot.",
     .otherwise = "1000",
     .min = 100,
     .max = kMostMilliseconds},
    {.name = "backoffMultiplier",
     .part = RetryKey::Part::kFactor,
     .unit = RetryKey::Unit::kFactor,
     .meaning = "By how much each wait is longer than the one before.",
     .otherwise = "2",
     .min = 1,
     .max = 10},
    {.name = "maxBackoffMs",
     .part = RetryKey::Part::kMaxDelay,
     .unit = RetryKey::Unit::kMilliseconds,
     .meaning = "The longest wait, in milliseconds.",
     .otherwise = "300000",
     .min = 1,
     .max = kMostMilliseconds},
});

/// Of a text, `fixed(attempts, delay)`: in the order in which they stand.
inline constexpr std::array kZartRetry = std::to_array<RetryKey>({
    {.name = "attempts",
     .part = RetryKey::Part::kAttempts,
     .unit = RetryKey::Unit::kCount,
     .meaning = "How many attempts in all.",
     .required = true,
     .min = 1,
     .max = kMostAttempts},
    {.name = "delay",
     .part = RetryKey::Part::kDelay,
     .unit = RetryKey::Unit::kSpan,
     .meaning = "The wait before each further attempt.",
     .required = true},
});

/// A vocabulary of retry policies: its keys, and what it says without a key.
struct RetryVocabulary {
  std::string_view name;
  std::span<const RetryKey> keys;
  uint32_t uncounted = 0;          ///< attempts that its number of them leaves out
  std::optional<int64_t> endless;  ///< the number of attempts that means without end
  int endless_years = 0;           ///< how long that is; 0: for ever
  int max_delay_times = 0;         ///< so many delays are max_delay where that is absent; 0: none
  bool max_delay_needs_growth = false;  ///< max_delay is of no meaning unless the factor is above 1
  double jitter = 0;
  bool timeouts_are_final = false;  ///< even those that another vocabulary would try again
  RetryPolicy::Asked asked = RetryPolicy::Asked::kBeforeCatch;
  RetryPolicy::UsedUp used_up = RetryPolicy::UsedUp::kLast;
};

const RetryVocabulary& retry_vocabulary(Vocabulary vocabulary);

/// The one of that name; nullopt: there is none.
std::optional<Vocabulary> vocabulary_named(std::string_view name);

/// What stands behind the keys of one policy; nullopt or empty where a key is absent.
struct WrittenRetry {
  std::optional<int64_t> attempts;
  std::optional<Span> delay;
  std::optional<double> factor;
  std::optional<Span> max_delay;
  std::vector<CodePattern> only;
  std::vector<std::string> never;
};

/// The policy that it is, all values being within the bounds of the vocabulary's keys.
RetryPolicy retry_policy(Vocabulary vocabulary, WrittenRetry written);

/// The policy that a system gives to what has none: all that its table has where nothing is
/// written. nullopt where it gives none.
std::optional<RetryPolicy> default_policy(Vocabulary vocabulary);

/// Zart's policy, which is a text: `fixed(3, 1s)`, white space around each part being skipped.
/// Errors name the text: `retry.malformed`, and what Span::parse has against the delay.
Result<RetryPolicy> parse_retry_text(std::string_view text);

// Timeouts of actions.

/// A key of an action or function that gives it a timeout.
struct TimeoutKey {
  std::string_view name;
  Vocabulary vocabulary;
  TimeoutKind kind;
  Timeout::Expiry expiry;    ///< in Steep's where `errorOnTimeout` is set; else it cancels
  std::string_view meaning;  ///< one sentence
};

inline constexpr std::array kActionTimeouts = std::to_array<TimeoutKey>({
    {.name = "scheduleToStartTimeout",
     .vocabulary = Vocabulary::kTemporal,
     .kind = TimeoutKind::kScheduleToStart,
     .expiry = Timeout::Expiry::kFinal,
     .meaning = "How long each attempt may wait for somebody to begin with it."},
    {.name = "startToCloseTimeout",
     .vocabulary = Vocabulary::kTemporal,
     .kind = TimeoutKind::kStartToClose,
     .expiry = Timeout::Expiry::kRetryable,
     .meaning = "How long each attempt may take; without it as long as scheduleToCloseTimeout."},
    {.name = "scheduleToCloseTimeout",
     .vocabulary = Vocabulary::kTemporal,
     .kind = TimeoutKind::kScheduleToClose,
     .expiry = Timeout::Expiry::kFinal,
     .meaning = "How long all attempts may take, and the waits between them."},
    {.name = "heartbeatTimeout",
     .vocabulary = Vocabulary::kTemporal,
     .kind = TimeoutKind::kHeartbeat,
     .expiry = Timeout::Expiry::kRetryable,
     .meaning = "How long the function may give no sign of life."},
    {.name = "maxInactivity",
     .vocabulary = Vocabulary::kSteep,
     .kind = TimeoutKind::kHeartbeat,
     .expiry = Timeout::Expiry::kRetryable,
     .meaning = "How long the function may give no sign of life before the instance is cancelled."},
    {.name = "maxRuntime",
     .vocabulary = Vocabulary::kSteep,
     .kind = TimeoutKind::kStartToClose,
     .expiry = Timeout::Expiry::kRetryable,
     .meaning = "How long each attempt may take before the instance is cancelled."},
    {.name = "deadline",
     .vocabulary = Vocabulary::kSteep,
     .kind = TimeoutKind::kScheduleToClose,
     .expiry = Timeout::Expiry::kFinal,
     .meaning = "How long all attempts may take, waits too, before the instance is cancelled."},
    {.name = "timeout",
     .vocabulary = Vocabulary::kZart,
     .kind = TimeoutKind::kScheduleToClose,
     .expiry = Timeout::Expiry::kFinal,
     .meaning = "How long the call may take; `timeout_scope` says whether all attempts or each."},
});

/// What `timeout_scope` makes of Zart's `timeout`.
struct TimeoutScope {
  std::string_view word;
  TimeoutKind kind;
  std::string_view meaning;
};
inline constexpr std::array kTimeoutScopes = std::to_array<TimeoutScope>({
    {"global", TimeoutKind::kScheduleToClose, "all attempts, and the waits between them"},
    {"per_attempt", TimeoutKind::kStartToClose, "each attempt"},
});

}  // namespace millrace
