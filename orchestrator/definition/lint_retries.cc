#include "orchestrator/definition/lint_retries.h"

#include <cmath>
#include <string>

#include "language/grammar.h"
#include "language/policy_fields.h"
#include "language/walk.h"
#include "orchestrator/definition/span_bounds.h"
#include "policies/retry_policy.h"

namespace millrace {
namespace {

constexpr const char* kRetryNever = "lint.retry_never";

/// Why a key has no effect, and what to write instead.
struct IdleKey {
  std::string why;  ///< empty: the key has an effect
  std::string mend;
};

/// Why the policy is the same without the key `key`. `why` is empty if the key has an effect, or if
/// its value is the default.
IdleKey why_idle(const RetryKey& key, const RetryPolicy& policy, Vocabulary vocabulary) {
  using Part = RetryKey::Part;
  if (key.part == Part::kAttempts) return {};
  const bool is_zero = policy.delay.is_zero() && !policy.has_evaluated_delay();
  const bool says_nothing =
      (key.part == Part::kDelay && is_zero) || (key.part == Part::kFactor && policy.factor == 1);
  if (says_nothing) return {};
  if (!policy.allows_after(1)) {
    return {.why = "this key has no effect: the policy allows no second attempt",
            .mend = "allow more attempts, or remove this key"};
  }
  if (key.part != Part::kFactor && key.part != Part::kMaxDelay) return {};
  if (is_zero) {
    return {.why = "this key has no effect: the first wait is zero, and so are all others",
            .mend = "write a first wait above zero, or remove this key"};
  }
  if (key.part == Part::kFactor) {
    if (policy.allows_after(2)) return {};
    return {.why = "this key has no effect: there is one wait only, before the second attempt",
            .mend = "allow more attempts, or remove this key"};
  }
  if (retry_vocabulary(vocabulary).max_delay_needs_growth && policy.factor <= 1) {
    return {.why = "this key has no effect: the waits do not grow",
            .mend = "write `exponentialBackoff` above 1, or remove this key"};
  }
  return {};
}

/// Whether no wait of the policy would exceed the policy's `max_delay`.
bool is_never_reached(const RetryPolicy& policy) {
  if (policy.has_evaluated_delay()) return false;
  const auto first = static_cast<double>(at_most(policy.delay).count());
  double longest = first;
  if (policy.factor > 1) {
    if (!policy.attempts) return false;
    longest = first * std::pow(policy.factor, *policy.attempts - 2.0);
  }
  return policy.max_delay && longest <= static_cast<double>(at_least(*policy.max_delay).count());
}

/// Reports the keys of one policy.
void check_keys(const Member& member, const std::string& path, Findings& findings) {
  Findings none;
  const auto written = read_retries(member, path, none);
  if (!written || none.has_errors() || member.value.kind != Node::Kind::kMapping) return;
  const RetryPolicy& policy = written->policy;
  for (const RetryKey& key : retry_vocabulary(written->vocabulary).keys) {
    const Member* found = member.value.find(key.name);
    if (found == nullptr && !key.spelling.empty()) found = member.value.find(key.spelling);
    if (found == nullptr || key.required) continue;
    const IdleKey idle = why_idle(key, policy, written->vocabulary);
    if (!idle.why.empty()) {
      findings.warning(kRetryNever, path_of(path, found->key), found->value.at, idle.why,
                       idle.mend);
    } else if (key.part == RetryKey::Part::kMaxDelay && is_never_reached(policy)) {
      findings.note(kRetryNever, path_of(path, found->key), found->value.at,
                    "this key has no effect: no wait of this policy is longer",
                    "remove this key, or write a shorter time");
    }
  }
}

}  // namespace

void lint_retries(const Node& document, Findings& findings) {
  walk(document, workflow_grammar(), "", [&](const Place& place) {
    if (place.rule.object == &retry_grammar()) check_keys(place.member, place.path, findings);
  });
}

}  // namespace millrace
