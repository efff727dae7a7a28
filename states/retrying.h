// Retrying: what follows when an attempt has failed, whatever it was an attempt of: an action, a
// state, or the whole workflow. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "model/instance.h"
#include "policies/retry_policy.h"

namespace millrace {

/// An attempt that has failed.
struct FailedAttempt {
  const InstanceId& instance;
  std::string_view state;
  size_t branch = 0;     ///< which of several calls of the state
  uint32_t attempt = 1;  ///< counted from 1
  TimePoint first_at;    ///< when the first attempt was scheduled
  TimePoint now;
  TimePoint retry_from;  ///< before that there is no other attempt, whatever the policy says
  const Error& error;
  bool is_caught = false;  ///< a `catch` takes the error
};

/// When the next attempt is due, or the error that is raised instead.
using AfterFailure = std::variant<TimePoint, Error>;

AfterFailure after_failure(const RetryPolicy& policy, const FailedAttempt& failed);

}  // namespace millrace
