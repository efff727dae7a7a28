// Lint checks of the events that a definition waits for. Private to orchestrator/definition/. Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds `lint.literal_type`, `lint.never_starts` for a `correlate` whose groups can never be
/// complete, and `lint.group_unbounded`.
void lint_events(const Node& document, Findings& findings);

}  // namespace millrace
