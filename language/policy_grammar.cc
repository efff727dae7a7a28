// The tables of policies: retries in each vocabulary, the timeouts of actions, and the policies of
// services in the settings of a namespace. Constants, any thread.
#include "language/grammar_tables.h"
#include "policies/vocabularies.h"

namespace millrace::grammar {
namespace {

constexpr Kind kind_of_unit(RetryKey::Unit unit) {
  switch (unit) {
    case RetryKey::Unit::kCount:
    case RetryKey::Unit::kMilliseconds:
      return Kind::kInteger;
    case RetryKey::Unit::kFactor:
      return Kind::kNumber;
    case RetryKey::Unit::kSpan:
    case RetryKey::Unit::kSpanOrNumber:
      return Kind::kDuration;
    case RetryKey::Unit::kPatterns:
      return Kind::kPattern;
    case RetryKey::Unit::kCodes:
      return Kind::kText;
  }
  return Kind::kText;
}

/// The keys of a vocabulary as rows of the grammar.
template <size_t N>
constexpr std::array<KeyRule, N> rules_of(const std::array<RetryKey, N>& keys, bool own = true) {
  std::array<KeyRule, N> rules{};
  for (size_t i = 0; i < N; ++i) {
    const RetryKey& key = keys[i];
    rules[i] = {
        .name = key.name,
        .kind = kind_of_unit(key.unit),
        .meaning = key.meaning,
        .list = key.unit == RetryKey::Unit::kPatterns || key.unit == RetryKey::Unit::kCodes,
        .required = key.required,
        .otherwise = key.otherwise,
        .spellings = {key.spelling},
        .min = key.min,
        .max = key.max,
        .above_min = key.above_min,
        .zero = key.part == RetryKey::Part::kDelay,
        .milliseconds = key.unit == RetryKey::Unit::kSpanOrNumber,
        .jq = key.jq,
        .own = own,
    };
  }
  return rules;
}

template <size_t N>
constexpr std::array<Word, N> words_of(const std::array<TimeoutScope, N>& scopes) {
  std::array<Word, N> words{};
  for (size_t i = 0; i < N; ++i) words[i] = {scopes[i].word, scopes[i].meaning};
  return words;
}
}  // namespace

// Retries. The kinds of a policy are the vocabularies; the keys of the policy choose one.

constexpr KeyRule kVocabularyKeys[] = {
    {.name = "vocabulary",
     .kind = Kind::kType,
     .meaning = "The vocabulary of the policy, if its keys fit several vocabularies.",
     .own = true},
};
constexpr auto kDirektivRetryKeys = rules_of(kDirektivRetry, false);
constexpr Mapping kDirektivRetryPolicy = {
    .name = "RetryDefinition",
    .section = "RetryDefinition",
    .meaning = "Direktiv's: an error is retried if its code is listed and no `catch` matches.",
    .groups = {kDirektivRetryKeys, kVocabularyKeys},
    .types = {"direktiv"},
};
constexpr auto kSteepRetryKeys = rules_of(kSteepRetry);
constexpr Mapping kSteepRetryPolicy = {
    .name = "SteepRetryPolicy",
    .section = "Retry policies",
    .meaning = "Steep's: every error is retried; `catch` applies when no attempt is left.",
    .groups = {kSteepRetryKeys, kVocabularyKeys},
    .types = {"steep"},
    .source = "Steep",
};
constexpr auto kTemporalRetryKeys = rules_of(kTemporalRetry);
constexpr Mapping kTemporalRetryPolicy = {
    .name = "TemporalRetryPolicy",
    .section = "Retry Policy",
    .meaning = "Temporal's: all errors but listed ones are retried; `catch` applies afterwards.",
    .groups = {kTemporalRetryKeys, kVocabularyKeys},
    .types = {"temporal"},
    .source = "Temporal",
};
constexpr auto kStevoraRetryKeys = rules_of(kStevoraRetry);
constexpr Mapping kStevoraRetryPolicy = {
    .name = "StevoraRetryPolicy",
    .section = "The RetryPolicy Interface",
    .meaning = "Stevora's: every error is retried; `catch` applies when no attempt is left.",
    .groups = {kStevoraRetryKeys, kVocabularyKeys},
    .types = {"stevora"},
    .source = "Stevora",
};
constexpr const Mapping* kRetryPolicies[] = {
    &kDirektivRetryPolicy,
    &kSteepRetryPolicy,
    &kTemporalRetryPolicy,
    &kStevoraRetryPolicy,
};
constexpr Mapping kRetryPolicy = {
    .name = "RetryPolicy",
    .section = "RetryDefinition",
    .meaning = "How often, and after which waits, a failed attempt is repeated.",
    .groups = {kVocabularyKeys},
    .kinds = kRetryPolicies,
};

// Timeouts of actions.

constexpr KeyRule kSteepTimeoutKeys[] = {
    {.name = "timeout",
     .kind = Kind::kDuration,
     .meaning = "The duration of the timeout.",
     .required = true,
     .milliseconds = true,
     .own = true},
    {.name = "errorOnTimeout",
     .kind = Kind::kBoolean,
     .meaning = "Whether the timeout raises an error, which can be retried or caught.",
     .otherwise = "false",
     .own = true},
};
constexpr Mapping kSteepTimeout = {
    .name = "SteepTimeout",
    .section = "Timeout policies",
    .meaning = "A timeout, and whether it raises an error or cancels the instance.",
    .groups = {kSteepTimeoutKeys},
    .source = "Steep",
};

constexpr auto kTimeoutScopeWords = words_of(kTimeoutScopes);

constexpr decltype(kActionTimeoutKeys) kActionTimeoutKeys = [] {
  std::array<KeyRule, kActionTimeouts.size() + 1> rules{};
  for (size_t i = 0; i < kActionTimeouts.size(); ++i) {
    const TimeoutKey& key = kActionTimeouts[i];
    const bool is_steep = key.vocabulary == Vocabulary::kSteep;
    rules[i] = {.name = key.name,
                .kind = is_steep ? Kind::kObject : Kind::kDuration,
                .meaning = key.meaning,
                .milliseconds = is_steep,
                .object = is_steep ? &kSteepTimeout : nullptr,
                .own = true};
    if (is_steep) rules[i].instead = Kind::kDuration;
  }
  rules.back() = {.name = "timeout_scope",
                  .kind = Kind::kWord,
                  .meaning = "Whether `timeout` limits each attempt or all attempts together.",
                  .otherwise = kTimeoutScopeWords[0].word,
                  .words = kTimeoutScopeWords,
                  .own = true};
  return rules;
}();

// The policies of services in the settings of a namespace.

constexpr KeyRule kServicePolicyKeys[] = {
    retries("When a failed call of the service is retried, if the workflow sets no policy for that "
            "call.",
            true),
};
constexpr Mapping kService = {
    .name = "Service",
    .section = "Timeout policies",
    .meaning = "The policies of a service's calls, where the workflow sets no other policy.",
    .groups = {kServicePolicyKeys, kActionTimeoutKeys},
    .source = "Steep",
};

}  // namespace millrace::grammar
