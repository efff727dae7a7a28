// Lint checks of calls of a definition's own workflow. Private to orchestrator/definition/. Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds `lint.call_never` for each call of the own workflow, whose result the instance waits for,
/// that needs what this instance has until it ends: that it is the only one (`singular`), or its
/// slot (`concurrency` with `limit: 1`). With a higher limit the depth of the calls decides, which
/// is not known; with `batch` such a call ends at once.
void lint_own_calls(const Node& document, Findings& findings);

}  // namespace millrace
