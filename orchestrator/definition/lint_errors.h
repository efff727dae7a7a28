// Lint checks of error codes: entries of `catch` and codes in retry policies that no error can
// match. lint_errors.cc has the list of the errors that each state can raise. Private to
// orchestrator/definition/. Pure.
#pragma once

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Adds `lint.on_failure`, `lint.catch_hidden`, `lint.catch_never`, `lint.retry_hidden`,
/// `lint.retry_never` and `lint.unknown_code`. If the definition does not load, the policies of
/// functions are skipped, because the actions that call the functions are not known.
void lint_errors(const Node& document, bool loads, Findings& findings);

}  // namespace millrace
