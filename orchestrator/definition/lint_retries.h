// Keys of a retry policy that change nothing beside the others. Private to
// orchestrator/definition/. Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds a `lint.retry_never` for each such key of the definition.
void lint_retries(const Node& document, Findings& findings);

}  // namespace millrace
