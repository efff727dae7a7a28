// Retry policies and timeouts of actions as somebody wrote them, read by the tables of
// policies/vocabularies.h: which vocabulary it is, and what it says. Mistakes become findings.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "language/document.h"
#include "language/fields.h"
#include "policies/action_policy.h"
#include "policies/retry_policy.h"
#include "policies/vocabularies.h"

namespace millrace {

/// What stands behind `retries` or `retry`: a mapping in one of the vocabularies, or Zart's text.
struct WrittenPolicy {
  Vocabulary vocabulary;
  RetryPolicy policy;
};

/// Reads it. nullopt, reported, where it is neither, and where its keys leave open which vocabulary
/// it is or mix several (`definition.vocabulary`). A mapping under `retry` that leaves it open is
/// Stevora's, if it may be.
std::optional<WrittenPolicy> read_retries(const Member& member, const std::string& path,
                                          Findings& findings);

/// The same for the key `retries` of a mapping; nullopt where it has none, too.
std::optional<RetryPolicy> read_retries(Fields& fields);

/// Reads the timeouts of an action, a function or a service. Two keys that give the same timeout
/// are `definition.both_keys`.
WrittenTimeouts read_timeouts(Fields& fields);

/// Reads what a service of the settings has of policies, as a JSON object with these keys only.
/// Errors are those of the findings, the first of them; `definition.missing` where a timeout of
/// Temporal's leaves open how long an attempt may take.
Result<ServicePolicy> read_service_policy(std::string_view json);

// For a call that starts an instance.

/// Reads what may stand behind `retries` of a workflow, as JSON. Errors are those of the findings,
/// the first of them.
Result<RetryPolicy> read_retry_policy(std::string_view json);

/// Reads a duration above zero. Errors: those of Span::parse, `duration.zero`.
Result<Span> read_timeout(std::string_view text);

}  // namespace millrace
