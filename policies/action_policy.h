// The retry and timeout policies of an action. The policy that is written nearest to the action
// wins; the parts that it leaves open come from policies that are farther away. Immutable values,
// any thread.
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

  /// These timeouts, and those of `farther` for the kinds that these do not set: the nearest key
  /// wins, key by key.
  WrittenTimeouts over(const WrittenTimeouts& farther) const;

  /// Adds the default that a vocabulary gives to a timeout that is not written: in Temporal's, one
  /// attempt may take as long as all attempts together (kScheduleToClose).
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
  bool is_settled = false;  ///< its workflow names the vocabulary of its defaults: the service's
                            ///< retry policy is ignored
  WrittenTimeouts written = {};  ///< the action's own timeouts and its function's

  /// This policy, and for what it leaves open that of the service which does the work. If the
  /// service has a timeout of Temporal's vocabulary, and neither it nor the action has a retry
  /// policy, then Temporal's default retry policy applies, unless `is_settled`.
  ActionPolicy over(const ServicePolicy& service) const;
};

}  // namespace millrace
