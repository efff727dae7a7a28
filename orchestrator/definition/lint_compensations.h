// Lint checks for compensations that are never made, that have nothing to undo, or whose input
// reads data that they do not have. Private to orchestrator/definition/. Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds `lint.compensation_never`, `lint.compensation_idle` and `lint.compensation_input`. If the
/// definition does not load, only those checks run that look at a single state.
void lint_compensations(const Node& document, bool loads, Findings& findings);

}  // namespace millrace
