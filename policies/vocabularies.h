// The vocabularies in which retry policies and timeouts of actions may be written: those of five
// systems. Each vocabulary is a table: which key sets which part of a RetryPolicy or TimeoutPolicy,
// in which unit and within which limits, and the value if the key is absent. The tables of the
// grammar (language/grammar.cc) are made from these tables, and language/policy_fields.h reads
// policies with them. Constants, any thread.
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

/// The five vocabularies, in the order of the table that retry_vocabulary() reads.
enum class Vocabulary : uint8_t { kDirektiv, kSteep, kTemporal, kStevora, kZart };

// Retries.

/// A key of a retry policy.
struct RetryKey {
  /// The part of the policy that the key sets.
  enum class Part : uint8_t { kAttempts, kDelay, kFactor, kMaxDelay, kOnly, kNever };
  /// The form of the key's value.
  enum class Unit : uint8_t {
    kCount,         ///< a whole number
    kFactor,        ///< a number
    kSpan,          ///< a duration
    kSpanOrNumber,  ///< a duration, or a whole number of milliseconds
    kMilliseconds,  ///< a whole number of milliseconds
    kPatterns,      ///< a list of patterns of error codes
    kCodes,         ///< a list of codes
  };

  std::string_view name;
  Part part;
  Unit unit;
  std::string_view meaning;  ///< one sentence, shown by `millrace explain`
  bool required = false;
  std::string_view otherwise = {};  ///< the value if the key is absent, as it would be written
  std::optional<int64_t> min = {};
  std::optional<int64_t> max = {};
  bool above_min = false;          ///< the value must be above `min`; `min` itself is refused
  bool jq = false;                 ///< a duration in which jq(…) is allowed
  std::string_view spelling = {};  ///< another name of the key
};

inline constexpr int64_t kMostAttempts = INT32_MAX;
/// 100 years, the longest of all durations.
inline constexpr int64_t kMostMilliseconds = int64_t{36'525} * 24 * 3600 * 1000;

inline constexpr std::array kDirektivRetry = std::to_array<RetryKey>({
    {.name = "max_attempts",
     .part = RetryKey::Part::kAttempts,
     .unit = RetryKey::Unit::kCount,
     .meaning = "How many attempts are made after the first one.",
     .required = true,
     .min = 0,
     .max = 1'000'000},
    {.name = "delay",
     .part = RetryKey::Part::kDelay,
     .unit = RetryKey::Unit::kSpan,
     .meaning = "The wait before the second attempt.",
     .otherwise = "PT0S",
     .jq = true},
    {.name = "multiplier",
     .part = RetryKey::Part::kFactor,
     .unit = RetryKey::Unit::kFactor,
     .meaning = "The factor between one wait and the next; more than zero.",
     .otherwise = "1",
     .min = 0,
     .above_min = true},
    {.name = "codes",
     .part = RetryKey::Part::kOnly,
     .unit = RetryKey::Unit::kPatterns,
     .meaning = "Which error codes are retried; \"*\" alone matches any code.",
     .required = true},
});

inline constexpr std::array kSteepRetry = std::to_array<RetryKey>({
    {.name = "maxAttempts",
     .part = RetryKey::Part::kAttempts,
     .unit = RetryKey::Unit::kCount,
     .meaning = "How many attempts in all; -1 means no limit, 0 skips the action.",
     .otherwise = "1",
     .min = -1,
     .max = kMostAttempts},
    {.name = "delay",
     .part = RetryKey::Part::kDelay,
     .unit = RetryKey::Unit::kSpanOrNumber,
     .meaning = "The wait before the second attempt.",
     .otherwise = "0",
     .jq = true},
    {.name = "exponentialBackoff",
     .part = RetryKey::Part::kFactor,
     .unit = RetryKey::Unit::kFactor,
     .meaning = "The factor between one wait and the next; more than zero.",
     .otherwise = "1",
     .min = 0,
     .above_min = true},
    {.name = "maxDelay",
     .part = RetryKey::Part::kMaxDelay,
     .unit = RetryKey::Unit::kSpanOrNumber,
     .meaning = "The longest wait, used if exponentialBackoff is above 1; without this key a wait "
                "has no limit."},
});

inline constexpr std::array kTemporalRetry = std::to_array<RetryKey>({
    {.name = "maximumAttempts",
     .part = RetryKey::Part::kAttempts,
     .unit = RetryKey::Unit::kCount,
     .meaning = "How many attempts in all; 0 means as many as can start within ten years.",
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
     .meaning = "The factor between one wait and the next; more than zero.",
     .otherwise = "2.0",
     .min = 0,
     .above_min = true},
    {.name = "maximumInterval",
     .part = RetryKey::Part::kMaxDelay,
     .unit = RetryKey::Unit::kSpan,
     .meaning = "The longest wait; without this key it is 100 times the initialInterval."},
    {.name = "nonRetryableErrors",
     .part = RetryKey::Part::kNever,
     .unit = RetryKey::Unit::kCodes,
     .meaning = "Error codes that are not retried.",
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
     .meaning = "The wait before the second attempt, in milliseconds; jitter shortens it by up to "
                "a quarter.",
     .otherwise = "1000",
     .min = 100,
     .max = kMostMilliseconds},
    {.name = "backoffMultiplier",
     .part = RetryKey::Part::kFactor,
     .unit = RetryKey::Unit::kFactor,
     .meaning = "The factor between one wait and the next.",
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

/// Zart's policy is a text, `fixed(attempts, delay)`; these are the two arguments, in order.
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

/// A vocabulary of retry policies: its keys, and the parts of the policy that no key sets.
struct RetryVocabulary {
  std::string_view name;
  std::span<const RetryKey> keys;
  uint32_t uncounted = 0;  ///< 1 if the key for attempts does not count the first attempt, else 0
  std::optional<int64_t> endless;  ///< the value of the key for attempts that means no limit
  int endless_years = 0;    ///< years in which attempts may start if there is no limit; 0: forever
  int max_delay_times = 0;  ///< an absent max_delay is this many times the delay; 0: no limit
  bool max_delay_needs_growth = false;  ///< max_delay is ignored unless the factor is above 1
  double jitter = 0;
  bool timeouts_are_final = false;  ///< no timeout is retried, not even one written as retryable
  RetryPolicy::Asked asked = RetryPolicy::Asked::kBeforeCatch;
  RetryPolicy::UsedUp used_up = RetryPolicy::UsedUp::kLast;
};

const RetryVocabulary& retry_vocabulary(Vocabulary vocabulary);

/// The vocabulary with that name; nullopt if there is none.
std::optional<Vocabulary> vocabulary_named(std::string_view name);

/// The values of the keys of one policy, as written; nullopt or empty if a key is absent.
struct WrittenRetry {
  std::optional<int64_t> attempts;
  std::optional<Span> delay;
  std::optional<Template> delay_template;  ///< set instead of `delay` if that has jq(…) in it
  std::optional<double> factor;
  std::optional<Span> max_delay;
  std::vector<CodePattern> only;
  std::vector<std::string> never;
};

/// Makes the policy from the written values and the vocabulary's defaults. Precondition: all values
/// are within the limits of the vocabulary's keys.
RetryPolicy retry_policy(Vocabulary vocabulary, WrittenRetry written);

/// The policy that the vocabulary's system applies if none is written: the default of every key.
/// nullopt if a key is required, so that the system has no default policy.
std::optional<RetryPolicy> default_policy(Vocabulary vocabulary);

/// Parses Zart's policy, a text: `fixed(3, 1s)`. White space around each part is skipped. Errors
/// name the text: `retry.malformed`, and the errors of Span::parse for the delay.
Result<RetryPolicy> parse_retry_text(std::string_view text);

// Timeouts of actions.

/// A key of an action or function that gives it a timeout.
struct TimeoutKey {
  std::string_view name;
  Vocabulary vocabulary;
  TimeoutKind kind;
  /// For a key of Steep this value applies only if `errorOnTimeout` is set; otherwise the timeout
  /// cancels the instance.
  Timeout::Expiry expiry;
  std::string_view meaning;  ///< one sentence
};

inline constexpr std::array kActionTimeouts = std::to_array<TimeoutKey>({
    {.name = "scheduleToStartTimeout",
     .vocabulary = Vocabulary::kTemporal,
     .kind = TimeoutKind::kScheduleToStart,
     .expiry = Timeout::Expiry::kFinal,
     .meaning = "How long each attempt may wait until a worker, service or container begins it."},
    {.name = "startToCloseTimeout",
     .vocabulary = Vocabulary::kTemporal,
     .kind = TimeoutKind::kStartToClose,
     .expiry = Timeout::Expiry::kRetryable,
     .meaning = "How long each attempt may take; without this key as long as "
                "scheduleToCloseTimeout. Without `retries` the failed attempts are repeated "
                "without end."},
    {.name = "scheduleToCloseTimeout",
     .vocabulary = Vocabulary::kTemporal,
     .kind = TimeoutKind::kScheduleToClose,
     .expiry = Timeout::Expiry::kFinal,
     .meaning = "How long all attempts together may take, including the waits between them. "
                "Without `retries` the failed attempts are repeated until then."},
    {.name = "heartbeatTimeout",
     .vocabulary = Vocabulary::kTemporal,
     .kind = TimeoutKind::kHeartbeat,
     .expiry = Timeout::Expiry::kRetryable,
     .meaning = "How long the function may send no heartbeat."},
    {.name = "maxInactivity",
     .vocabulary = Vocabulary::kSteep,
     .kind = TimeoutKind::kHeartbeat,
     .expiry = Timeout::Expiry::kRetryable,
     .meaning = "How long the function may send no heartbeat before the instance is cancelled."},
    {.name = "maxRuntime",
     .vocabulary = Vocabulary::kSteep,
     .kind = TimeoutKind::kStartToClose,
     .expiry = Timeout::Expiry::kRetryable,
     .meaning = "How long each attempt may take before the instance is cancelled."},
    {.name = "deadline",
     .vocabulary = Vocabulary::kSteep,
     .kind = TimeoutKind::kScheduleToClose,
     .expiry = Timeout::Expiry::kFinal,
     .meaning =
         "How long all attempts together may take, including the waits between them, before the "
         "instance is cancelled."},
    {.name = "timeout",
     .vocabulary = Vocabulary::kZart,
     .kind = TimeoutKind::kScheduleToClose,
     .expiry = Timeout::Expiry::kFinal,
     .meaning = "How long the call may take; `timeout_scope` sets whether that is for all attempts "
                "together or for each attempt."},
});

/// A value of `timeout_scope`, and the kind of timeout that Zart's `timeout` then sets.
struct TimeoutScope {
  std::string_view word;
  TimeoutKind kind;
  std::string_view meaning;
};
inline constexpr std::array kTimeoutScopes = std::to_array<TimeoutScope>({
    {"global", TimeoutKind::kScheduleToClose, "all attempts together, and the waits between them"},
    {"per_attempt", TimeoutKind::kStartToClose, "each attempt"},
});

}  // namespace millrace
