// Lint about the limits of calls (`concurrency`, `throttle`), and about those of the starts of a
// workflow
// (`rateLimit`, `debounce`, `concurrency`, `throttle`). Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds a warning (`lint.start_key`) for a `key` or a `priority` that reads nothing of the input,
/// or only members that the data of the workflow's starts does not have, so that it is the same for
/// all starts, one (`lint.concurrency_never`) for a `priority` or a `timeout` of starts that never
/// wait, and one (`lint.wrong_type`) for a `priority` that never is an integer. Likewise of calls
/// (`lint.call_key`).
void lint_starts(const Node& document, Findings& findings);

}  // namespace millrace
