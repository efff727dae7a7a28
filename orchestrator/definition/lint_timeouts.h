// The checks of lint that compare times: a timeout, a delay or a wait before an attempt that
// another timeout always comes before, and keys of retry policies that change nothing. Private to
// orchestrator/definition/. Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds `lint.timeout_never`, `lint.wait_never`, `lint.retry_never` and `lint.retry_hidden`. Of a
/// definition that does not load nothing is said of what other places decide about.
void lint_timeouts(const Node& document, bool loads, Findings& findings);

}  // namespace millrace
