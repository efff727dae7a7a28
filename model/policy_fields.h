// Retry policies and timeouts of actions as somebody wrote them, read by the tables of
// policies/vocabularies.h: which vocabulary it is, and what it says. Mistakes become findings.
// Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/document.h"
#include "model/fields.h"
#include "policies/retry_policy.h"
#include "policies/timeout_policy.h"
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

/// The timeouts of an action or a function, each with the key that says it.
struct WrittenTimeouts {
  TimeoutPolicy policy;
  std::array<const TimeoutKey*, kTimeoutKinds> keys{};

  /// The first key of that vocabulary; null if there is none.
  const TimeoutKey* key_of(Vocabulary vocabulary) const;

  /// These, and for what they do not say the others: the nearest key wins, key by key.
  WrittenTimeouts over(const WrittenTimeouts& farther) const;
};

/// Reads them. Two keys that give the same timeout are `definition.both_keys`.
WrittenTimeouts read_timeouts(Fields& fields);

// For a call that starts an instance.

/// Reads what may stand behind `retries` of a workflow, as JSON. Errors are those of the findings,
/// the first of them.
Result<RetryPolicy> read_retry_policy(std::string_view json);

/// Reads a duration above zero. Errors: those of Span::parse, `duration.zero`.
Result<Span> read_timeout(std::string_view text);

}  // namespace millrace
