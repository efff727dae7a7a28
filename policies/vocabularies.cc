#include "policies/vocabularies.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/check.h"
#include "base/excerpt.h"

namespace millrace {
namespace {

using Part = RetryKey::Part;

constexpr std::array kVocabularies = std::to_array<RetryVocabulary>({
    {.name = "direktiv",
     .keys = kDirektivRetry,
     .uncounted = 1,
     .asked = RetryPolicy::Asked::kAfterCatch,
     .used_up = RetryPolicy::UsedUp::kExceeded},
    {.name = "steep", .keys = kSteepRetry, .endless = -1, .max_delay_needs_growth = true},
    {.name = "temporal",
     .keys = kTemporalRetry,
     .endless = 0,
     .endless_years = 10,
     .max_delay_times = 100},
    {.name = "stevora",
     .keys = kStevoraRetry,
     .jitter = 0.25,
     .used_up = RetryPolicy::UsedUp::kStepFailed},
    {.name = "zart",
     .keys = kZartRetry,
     .timeouts_are_final = true,
     .used_up = RetryPolicy::UsedUp::kExceeded},
});

Span span_of(std::string_view text) {
  Result<Span> span = Span::parse(text);
  CHECK(span, "the default of a retry key, {}, is not a duration", text);
  return std::move(*span);
}

int64_t count_of(std::string_view text) {
  int64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

/// If no value is written for `key`, puts the default value of the key into `written`.
void add_default(const RetryKey& key, WrittenRetry& written) {
  if (key.otherwise.empty()) return;
  switch (key.part) {
    case Part::kAttempts:
      if (!written.attempts) written.attempts = count_of(key.otherwise);
      break;
    case Part::kDelay:
      if (!written.delay) written.delay = span_of(key.otherwise);
      break;
    case Part::kFactor:
      if (!written.factor) written.factor = std::atof(std::string(key.otherwise).c_str());
      break;
    case Part::kMaxDelay:
      if (!written.max_delay) written.max_delay = span_of(key.otherwise);
      break;
    case Part::kOnly:
    case Part::kNever:
      break;
  }
}

}  // namespace

const RetryVocabulary& retry_vocabulary(Vocabulary vocabulary) {
  return kVocabularies[static_cast<size_t>(vocabulary)];
}

std::optional<Vocabulary> vocabulary_named(std::string_view name) {
  for (size_t i = 0; i < kVocabularies.size(); ++i) {
    if (kVocabularies[i].name == name) return static_cast<Vocabulary>(i);
  }
  return std::nullopt;
}

RetryPolicy retry_policy(Vocabulary vocabulary, WrittenRetry written) {
  const RetryVocabulary& table = retry_vocabulary(vocabulary);
  for (const RetryKey& key : table.keys) add_default(key, written);
  RetryPolicy policy{.factor = written.factor.value_or(1),
                     .jitter = table.jitter,
                     .only = std::move(written.only),
                     .never = std::move(written.never),
                     .asked = table.asked,
                     .used_up = table.used_up};
  if (written.delay_template) {
    policy.delay_template = std::move(written.delay_template);
  } else {
    policy.delay = std::move(written.delay).value_or(Span{});
  }
  const int64_t attempts = written.attempts.value_or(0);
  if (attempts == table.endless) {
    policy.attempts.reset();
    if (table.endless_years > 0) policy.window = Span{.months = 12 * table.endless_years};
  } else {
    policy.attempts = static_cast<uint32_t>(attempts) + table.uncounted;
  }
  if (!table.max_delay_needs_growth || policy.factor > 1) {
    policy.max_delay = std::move(written.max_delay);
  }
  if (!policy.max_delay && table.max_delay_times > 0) {
    policy.max_delay = Span{.months = policy.delay.months * table.max_delay_times,
                            .fixed = policy.delay.fixed * table.max_delay_times};
  }
  if (table.timeouts_are_final) {
    policy.never.emplace_back("direktiv.stateTimeout");
    for (size_t i = 0; i < kTimeoutKinds; ++i) {
      policy.never.emplace_back(error_code(static_cast<TimeoutKind>(i)));
    }
  }
  return policy;
}

std::optional<RetryPolicy> default_policy(Vocabulary vocabulary) {
  const std::span<const RetryKey> keys = retry_vocabulary(vocabulary).keys;
  const bool needs_a_key =
      std::any_of(keys.begin(), keys.end(), [](const RetryKey& key) { return key.required; });
  if (needs_a_key) return std::nullopt;
  return retry_policy(vocabulary, {});
}

Result<RetryPolicy> parse_retry_text(std::string_view text) {
  const auto malformed = [&](std::string_view why) {
    return fail("retry.malformed",
                fmt::format("\"{}\" is not a retry policy: {}", excerpt(text), why));
  };
  constexpr std::string_view kForm = "write fixed(attempts, delay), such as fixed(3, 1s)";
  const std::string_view whole = trimmed(text);
  const size_t open = whole.find('(');
  if (open == std::string_view::npos) return malformed(kForm);
  if (!whole.ends_with(')')) {
    return malformed(
        "its `)` is missing; inside {…} put the policy in quotes, because it contains a comma");
  }
  if (const std::string_view name = trimmed(whole.substr(0, open)); name != "fixed") {
    return malformed(
        fmt::format("\"{}\" is unknown; only fixed(attempts, delay) is valid; for waits that grow, "
                    "write a mapping with the keys of another vocabulary",
                    excerpt(name)));
  }
  const std::string_view inner = whole.substr(open + 1, whole.size() - open - 2);
  const size_t comma = inner.find(',');
  if (comma == std::string_view::npos) return malformed(kForm);

  const std::string_view number = trimmed(inner.substr(0, comma));
  const RetryKey& bounds = kZartRetry[0];
  WrittenRetry written{.attempts = 0};
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), *written.attempts);
  if (error != std::errc() || end != number.data() + number.size() ||
      written.attempts < bounds.min || written.attempts > bounds.max) {
    return malformed(fmt::format("the attempts are \"{}\", expected a number from {} to {}",
                                 excerpt(number), *bounds.min, *bounds.max));
  }
  written.delay = TRY(Span::parse(trimmed(inner.substr(comma + 1))));
  return retry_policy(Vocabulary::kZart, std::move(written));
}

}  // namespace millrace
