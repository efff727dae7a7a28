// Lint checks for compensations that are never made, or that have nothing to undo. Private to
// orchestrator/definition/. Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds `lint.compensation_never` and `lint.compensation_idle`. If the definition does not load,
/// only the checks run that look at a single state.
void lint_compensations(const Node& document, bool loads, Findings& findings);

}  // namespace millrace
