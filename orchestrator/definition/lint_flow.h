// Lint checks for the flow control of a workflow: keys of `concurrency`, and `priority`, that have
// no effect. Private to orchestrator/definition/. Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds `lint.concurrency_key` and `lint.concurrency_never`.
void lint_flow(const Node& document, Findings& findings);

}  // namespace millrace
