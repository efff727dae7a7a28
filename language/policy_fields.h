// Reads retry policies and timeouts of actions from a definition, using the tables of
// policies/vocabularies.h: chooses the vocabulary and reads its keys. Mistakes become findings.
// Pure.
#pragma once

#include <cstdint>
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

/// Whether a `delay` may contain jq(…): in a definition it may, in settings and in a call that
/// starts an instance it is a constant.
enum class RetryJq : uint8_t { kHere, kNotHere };

/// The value of `retries` or `retry`: a mapping in one of the vocabularies, or Zart's text.
struct WrittenPolicy {
  Vocabulary vocabulary;
  RetryPolicy policy;
};

/// Reads the value of `retries` or `retry`. Returns nullopt, with a finding, if it is neither a
/// mapping nor a string, or if its keys fit several vocabularies or mix them
/// (`definition.vocabulary`). A mapping under `retry` whose keys fit several vocabularies is read
/// as Stevora's, if Stevora's is one of them. A `delay` with jq(…) in it must consist of programs
/// that the fast lane can run (`definition.value`), because an attempt that has failed waits for no
/// jq worker.
std::optional<WrittenPolicy> read_retries(const Member& member, const std::string& path,
                                          Findings& findings, RetryJq jq = RetryJq::kHere);

/// Reads the key `retries` of a mapping. Returns nullopt if the key is absent, or after a finding.
std::optional<RetryPolicy> read_retries(Fields& fields, RetryJq jq = RetryJq::kHere);

/// The message of `definition.both_keys` for two keys, each of its vocabulary, that set the same
/// timeout.
std::string same_timeout(std::string_view first, Vocabulary of_first, std::string_view second,
                         Vocabulary of_second);

/// Reads the timeouts of an action, a function or a service. Two keys that set the same timeout are
/// reported as `definition.both_keys`.
WrittenTimeouts read_timeouts(Fields& fields);

/// Reads the policies of a service in the settings from a JSON object that has only the keys of
/// policies. Returns the first finding as the error; `definition.missing` if Temporal's timeouts
/// are used without one that limits the duration of an attempt.
Result<ServicePolicy> read_service_policy(std::string_view json);

// Policies of a call that starts an instance.

/// Reads the JSON text of a value of the workflow's `retries`. Returns the first finding as the
/// error, or `definition.value` for a policy with 0 attempts.
Result<RetryPolicy> read_retry_policy(std::string_view json);

/// Reads a duration above zero. Errors: those of Span::parse, `duration.zero`.
Result<Span> read_timeout(std::string_view text);

}  // namespace millrace
