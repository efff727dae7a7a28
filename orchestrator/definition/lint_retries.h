// Lint checks of retry policies: keys that have no effect because of the policy's other keys.
// Private to orchestrator/definition/. Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds `lint.retry_never` for each key of a retry policy that has no effect.
void lint_retries(const Node& document, Findings& findings);

}  // namespace millrace
