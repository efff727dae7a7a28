// The checks of lint that look for keys which are valid and change nothing, each for a reason of
// its own. Private to orchestrator/definition/. Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds `lint.unused`, `lint.error_never`, `lint.content_type`, `lint.variable_hidden` and
/// `lint.timeout_never`. Of a definition that does not load only what one state decides about.
void lint_idle(const Node& document, bool loads, Findings& findings);

}  // namespace millrace
