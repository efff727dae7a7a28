// Lint about the limits of the starts of a workflow (`rateLimit`, `debounce`, `batch`,
// `concurrency`, `throttle`). Private to orchestrator/definition/. Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds a warning (`lint.start_key`) for a `key` or a `priority` that reads nothing of the input,
/// or only members that the data of the workflow's starts does not have, so that it is the same for
/// all starts, or refuses them, one (`lint.concurrency_never`) for a `priority` or a `timeout` of
/// starts that never wait, one (`lint.wrong_type`) for a `priority` that never is an integer, and
/// one (`lint.priority_missing`) for a `priority` that is null if a member is missing.
void lint_starts(const Node& document, Findings& findings);

}  // namespace millrace
