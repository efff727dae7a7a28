// The retry and timeout policies of an action. The policy that is written nearest to the action
// wins. What the nearest policy does not set comes from the policies that are written farther away
// (for example at the function, the service or the namespace). Immutable values, any thread.
#pragma once

#include <array>
#include <optional>

#include "policies/retry_policy.h"
#include "policies/timeout_policy.h"
#include "policies/vocabularies.h"

namespace millrace {

/// The timeouts of an action, a function or a service, each with the key that sets it.
struct WrittenTimeouts {
  TimeoutPolicy policy;
  std::array<const TimeoutKey*, kTimeoutKinds> keys{};

  /// The first key that belongs to `vocabulary`; null if none does.
  const TimeoutKey* key_of(Vocabulary vocabulary) const;

  /// These timeouts, completed by those of `farther` for each kind that is not set here. A key that
  /// is set in both objects counts only in this object, even if it sets another kind of timeout
  /// here.
  WrittenTimeouts over(const WrittenTimeouts& farther) const;

  /// These timeouts with the one default that a vocabulary defines: in Temporal's vocabulary, if
  /// only kScheduleToClose is set, one attempt (kStartToClose) may take as long as all attempts
  /// together.
  TimeoutPolicy with_defaults() const;
};

/// The policy that the settings of a namespace give to a service (Steep, "per service in the
/// service metadata").
struct ServicePolicy {
  std::optional<RetryPolicy> retries;
  WrittenTimeouts timeouts;

  bool empty() const;
};

/// How often an action is tried, and how long it may take.
struct ActionPolicy {
  std::optional<RetryPolicy> retries;
  TimeoutPolicy timeouts;
  /// Whether the retry policy of a service is ignored, because the workflow has `defaults`.
  bool is_settled = false;
  WrittenTimeouts written = {};  ///< the timeouts that the action and its function set

  /// This policy, completed by the policy of the service which does the work. If neither the action
  /// nor the service has a retry policy and the service has a timeout of Temporal's vocabulary,
  /// Temporal's default retry policy applies. If `is_settled`, no retry policy is added.
  ActionPolicy over(const ServicePolicy& service) const;
};

}  // namespace millrace
