// The checks of lint that compare times: a timeout, a delay or a wait before an attempt that
// another timeout always comes before. What stands within one retry policy is lint_retries.h's.
// Private to orchestrator/definition/. Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds `lint.timeout_never`, `lint.wait_never` and `lint.retry_hidden`. A definition that does not
/// load gets none that depends on other places.
void lint_timeouts(const Node& document, bool loads, Findings& findings);

}  // namespace millrace
