// Lint checks that compare times: they find each timeout, delay and retry wait that can never end,
// because another timeout always expires first. lint_retries.h compares keys within one retry
// policy. Private to orchestrator/definition/. Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds `lint.timeout_never`, `lint.wait_never` and `lint.retry_hidden`. If the definition does not
/// load, checks that depend on other places of the definition are skipped.
void lint_timeouts(const Node& document, bool loads, Findings& findings);

}  // namespace millrace
