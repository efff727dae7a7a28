#include "states/retrying.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "policies/evaluated_time.h"

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

/// The bytes that the jq programs of a `delay` may copy, compare and write, as in a visit.
constexpr size_t kDelayBytes = kLargeJson;

/// The value of a `delay` with jq(…). Only the fast lane runs its programs: nothing holds the
/// failed attempt while a jq worker would.
Result<Span> evaluated_delay(const Template& delay, const FailedAttempt& failed) {
  const LazyJson input = with_error(failed.data.without_tree(), failed.error);
  std::vector<LazyJson> results;
  size_t left = kDelayBytes;
  const Bindings bindings{.now = failed.now};
  for (const Program& program : delay.programs()) {
    std::optional<QueryResult> result;
    if (program.fast != nullptr) result = program.fast->run_within(input, left, true, &bindings);
    if (!result) {
      return fail(std::string(kDurationInvalid),
                  fmt::format("delay: the data, or what the program reads of it, has more than {} "
                              "KB; keep the data small, or write a constant delay",
                              kDelayBytes >> 10));
    }
    if (!*result) return tl::unexpected(std::move(result->error()));
    results.push_back(std::move(**result));
  }
  return span_of("delay", true, delay.assemble(results));
}

}  // namespace

LazyJson with_error(LazyJson data, const Error& error) {
  LazyJson entry = LazyJson::object({{"code", error.code}, {"msg", error.message}});
  if (!data.is_object()) {
    return LazyJson::of_members({{"error", std::move(entry)}, {"data", std::move(data)}});
  }
  data.set("error", std::move(entry));
  return data;
}

AfterFailure after_failure(const RetryPolicy& policy, const FailedAttempt& failed) {
  const bool comes_second = policy.asked == RetryPolicy::Asked::kAfterCatch;
  if ((comes_second && failed.is_caught) || !policy.covers(failed.error.code)) {
    return failed.error;
  }
  if (policy.allows_after(failed.attempt)) {
    std::optional<Span> delay;
    if (policy.delay_template) {
      auto evaluated = evaluated_delay(*policy.delay_template, failed);
      if (!evaluated) {
        return Error{evaluated.error().code,
                     fmt::format("{}; the attempt failed with {}: {}", evaluated.error().message,
                                 failed.error.code, failed.error.message)};
      }
      delay = std::move(*evaluated);
    }
    const TimePoint at = std::max(policy.next_at(failed.attempt, failed.now, draw(failed), delay),
                                  failed.retry_from);
    if (policy.allows_at(failed.first_at, at)) return at;
  }
  return used_up(policy, failed);
}

}  // namespace millrace
