// The checks of lint that look at error codes: entries of `catch`, and what retry policies say of
// codes, that no error comes to. Which errors a state can raise stands here. Private to
// orchestrator/definition/. Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds `lint.on_failure`, `lint.catch_hidden`, `lint.catch_never`, `lint.retry_hidden`,
/// `lint.retry_never` and `lint.unknown_code`. Of a definition that does not load the policies of
/// functions are left out, as their callers are not known.
void lint_errors(const Node& document, bool loads, Findings& findings);

}  // namespace millrace
