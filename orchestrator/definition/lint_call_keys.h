// Lint about the values of the limits of calls: `key` and `priority` of functions and actions.
// Private to orchestrator/definition/. Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds a warning (`lint.call_key`) for a `key` that reads nothing of the input of the calls, and
/// for a `key` or a `priority` that reads only members that the input of a call certainly does not
/// have (without `input`, those of the data of a start), one
/// (`lint.concurrency_never`) for a `priority` of calls that never wait, one (`lint.wrong_type`)
/// for a `priority` that never is an integer, and one (`lint.priority_missing`) for a `priority`
/// that is null if a member is missing.
void lint_call_keys(const Node& document, Findings& findings);

}  // namespace millrace
