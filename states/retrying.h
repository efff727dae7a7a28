// Retrying: decides what follows a failed attempt of an action, a state or a run. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

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
  bool is_caught = false;  ///< an entry of `catch` matches the error
};

/// The time of the next attempt, or the error that is raised instead.
using AfterFailure = std::variant<TimePoint, Error>;

/// Applies the policy to a failed attempt.
AfterFailure after_failure(const RetryPolicy& policy, const FailedAttempt& failed);

}  // namespace millrace
