// What an action has of policies: those that stand nearest to it, and for what they leave open
// those that stand farther away. Immutable values, any thread.
#pragma once

#include <array>
#include <optional>

#include "policies/retry_policy.h"
#include "policies/timeout_policy.h"
#include "policies/vocabularies.h"

namespace millrace {

/// The timeouts of an action, a function or a service, each with the key that says it.
struct WrittenTimeouts {
  TimeoutPolicy policy;
  std::array<const TimeoutKey*, kTimeoutKinds> keys{};

  /// The first key of that vocabulary; null if there is none.
  const TimeoutKey* key_of(Vocabulary vocabulary) const;

  /// These, and for what they do not say the others: the nearest key wins, key by key.
  WrittenTimeouts over(const WrittenTimeouts& farther) const;

  /// With what the vocabularies give where nothing is written: Temporal's default for one attempt
  /// is the bound on all of them.
  TimeoutPolicy with_defaults() const;
};

/// What the settings of a namespace say of a service (Steep, "per service in the service
/// metadata").
struct ServicePolicy {
  std::optional<RetryPolicy> retries;
  WrittenTimeouts timeouts;

  bool empty() const;
};

/// How often an action is tried, and how long it may take.
struct ActionPolicy {
  std::optional<RetryPolicy> retries;
  TimeoutPolicy timeouts;
  bool is_settled = false;  ///< its workflow names whose defaults it has: nothing farther counts
  WrittenTimeouts written = {};  ///< its own and its function's

  /// This one, and for what it leaves open that of the service which does the work. Where the
  /// service has a timeout of Temporal's and nobody a policy, it is Temporal's.
  ActionPolicy over(const ServicePolicy& service) const;
};

}  // namespace millrace
