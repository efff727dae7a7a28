// OwnPolicy: the retries and timeouts that a call which starts an instance sets instead of those of
// the workflow. An OwnPolicy is stored as a JSON text. Pure.
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

/// The values that a call may set, as texts; an empty text sets nothing.
struct OwnPolicyTexts {
  std::string retries;  ///< JSON of a policy in any vocabulary
  std::string execution;
  std::string run;
  std::string task;
};

/// Checks the texts and returns the JSON text to store; empty if they set nothing. Errors: those of
/// read_retry_policy and read_timeout (language/policy_fields.h); the error of a timeout names its
/// key.
Result<std::string> write_own_policy(const OwnPolicyTexts& texts);

/// Reads a stored text; an empty text is a policy that sets nothing. Errors: `policy.invalid`,
/// those of parse_own_json, read_retry_policy and read_timeout.
Result<OwnPolicy> parse_own_policy(std::string_view text);

/// Reads a stored text like parse_own_policy(), but returns a policy that sets nothing on an error.
OwnPolicy read_own_policy(std::string_view text);

}  // namespace millrace
