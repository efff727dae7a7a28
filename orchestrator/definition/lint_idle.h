// Lint checks for valid keys without an effect, for reasons that the other lint files do not cover.
// Private to orchestrator/definition/. Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds `lint.unused`, `lint.error_never`, `lint.continue_never`, `lint.content_type`,
/// `lint.variable_hidden` and `lint.timeout_never`. If the definition does not load, only the
/// checks run that look at a single state or at the start.
void lint_idle(const Node& document, bool loads, Findings& findings);

}  // namespace millrace
