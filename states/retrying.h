// Retrying: decides what follows a failed attempt of an action, a state or a run. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "base/lazy_json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"
#include "policies/retry_policy.h"

namespace millrace {

/// A failed attempt.
struct FailedAttempt {
  const InstanceId& instance;
  std::string_view state;
  size_t branch = 0;     ///< the index of the call, in a state with several calls
  uint32_t attempt = 1;  ///< counted from 1
  TimePoint first_at;    ///< the time of the first attempt
  TimePoint now;
  TimePoint retry_from;  ///< the earliest time of the next attempt, independent of the policy
  const Error& error;
  /// The data with which the attempt was made, over which a `delay` with jq(…) is evaluated.
  const LazyJson& data;
  bool is_caught = false;  ///< an entry of `catch` matches the error
};

/// The time of the next attempt, or the error that is raised instead.
using AfterFailure = std::variant<TimePoint, Error>;

/// The data with `.error`, as a state that catches the error sees it. Data that is not an object
/// becomes {"error": …, "data": …}.
LazyJson with_error(LazyJson data, const Error& error);

/// Applies the policy to a failed attempt. If the `delay` of the policy cannot be evaluated, that
/// error is raised instead: of a jq program, or millrace.duration.invalid.
AfterFailure after_failure(const RetryPolicy& policy, const FailedAttempt& failed);

}  // namespace millrace
