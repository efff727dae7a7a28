#include "states/retrying.h"

#include <algorithm>

#include <fmt/format.h>

namespace millrace {
namespace {

double draw(const FailedAttempt& failed) {
  return draw_from({to_string(failed.instance), failed.state, std::to_string(failed.branch),
                    std::to_string(failed.attempt)});
}

Error used_up(const RetryPolicy& policy, const FailedAttempt& failed) {
  const Error& last = failed.error;
  switch (policy.used_up) {
    case RetryPolicy::UsedUp::kLast:
      break;
    case RetryPolicy::UsedUp::kStepFailed:
      return {last.code, fmt::format("Step '{}' failed after {} attempts: {}", failed.state,
                                     failed.attempt, last.message)};
    case RetryPolicy::UsedUp::kExceeded:
      // Direktiv counts retries, not attempts: if the policy allows no retry, none is used up.
      if (failed.attempt == 1 && policy.asked == RetryPolicy::Asked::kAfterCatch) break;
      return {"direktiv.retries.exceeded",
              fmt::format("all {} attempts failed, the last with {}: {}", failed.attempt, last.code,
                          last.message)};
  }
  return last;
}

}  // namespace

AfterFailure after_failure(const RetryPolicy& policy, const FailedAttempt& failed) {
  const bool comes_second = policy.asked == RetryPolicy::Asked::kAfterCatch;
  if ((comes_second && failed.is_caught) || !policy.covers(failed.error.code)) {
    return failed.error;
  }
  if (policy.allows_after(failed.attempt)) {
    const TimePoint at =
        std::max(policy.next_at(failed.attempt, failed.now, draw(failed)), failed.retry_from);
    if (policy.allows_at(failed.first_at, at)) return at;
  }
  return used_up(policy, failed);
}

}  // namespace millrace
