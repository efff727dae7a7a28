// Lint checks of strings: jq programs, text that only looks like jq, and patterns that no event can
// match. Private to orchestrator/definition/. Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds the findings for every string of the document that may contain jq or is a pattern.
void lint_queries(const Node& document, Findings& findings);

}  // namespace millrace
