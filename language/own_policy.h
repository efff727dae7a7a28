// OwnPolicy: what a call that starts an instance says instead of its workflow: its retries and
// timeouts. It is kept as the JSON text that it was read from. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "policies/duration.h"
#include "policies/retry_policy.h"

namespace millrace {

struct OwnPolicy {
  std::optional<RetryPolicy> retries;
  std::optional<Span> execution;
  std::optional<Span> run;
  std::optional<Span> task;
};

/// What a call may say, as texts; empty: nothing.
struct OwnPolicyTexts {
  std::string retries;  ///< JSON of a policy in any vocabulary
  std::string execution;
  std::string run;
  std::string task;
};

/// The text to keep; empty where nothing is said. Errors name what is wrong: those of
/// read_retry_policy and read_timeout (language/policy_fields.h).
Result<std::string> write_own_policy(const OwnPolicyTexts& texts);

/// Reads a kept text; an empty one is a policy that says nothing. Error `policy.invalid`.
Result<OwnPolicy> parse_own_policy(std::string_view text);

/// The same for a text that parse_own_policy() takes; another one says nothing.
OwnPolicy read_own_policy(std::string_view text);

}  // namespace millrace
