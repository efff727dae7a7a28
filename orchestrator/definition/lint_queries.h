// The checks of lint that read texts: jq programs, text that only looks like jq, patterns that no
// event matches. Private to orchestrator/definition/. Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds the findings on every text of the document that may hold jq or is a pattern.
void lint_queries(const Node& document, Findings& findings);

}  // namespace millrace
