// Retry policies as text, such as `fixed(3, 1s)`, and the waits that follow from them.
// Covers: policies/vocabularies.cc policies/retry_policy.cc policies/duration.cc
#include <chrono>

#include "policies/vocabularies.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {

FUZZ_TARGET(retry_texts) {
  const Result<RetryPolicy> policy = parse_retry_text(bytes);
  if (!policy) return check_shown_error(policy.error());
  CHECK(policy->attempts && *policy->attempts >= 1, "{} makes no attempt", excerpt(bytes));
  const TimePoint now = from_millis(1'630'454'400'000);
  for (const uint32_t attempt : {1U, 2U, 1000U, UINT32_MAX}) {
    const TimePoint next = policy->next_at(attempt, now);
    CHECK(next >= now && next - now <= std::chrono::hours(24) * 36'526, "{} waits until {}",
          excerpt(bytes), format_rfc3339(next));
    CHECK(policy->allows_after(attempt) == (attempt < *policy->attempts), "{} has {} attempts",
          excerpt(bytes), *policy->attempts);
  }
}

}  // namespace millrace::fuzz
