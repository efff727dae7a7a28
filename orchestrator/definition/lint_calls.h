// Lint checks of calls: calls without a timeout to a service that may have no worker, and calls
// that are always refused. Private to orchestrator/definition/. Pure.
#pragma once

#include <functional>
#include <string>

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Whether the settings of the workflow's namespace name the service; with `global`, those of the
/// namespace `default`. Empty if the settings are unknown.
using NamesService = std::function<bool(const std::string& service, bool global)>;

/// Adds `lint.call_unbounded` for each call of a service without any timeout: a warning if the
/// settings do not name the service, a note if the settings are unknown. Adds `lint.call_never` for
/// a singular workflow that calls itself and waits for the result, and for each function with an
/// image that no container may have.
void lint_calls(const Node& document, const NamesService& names_service, Findings& findings);

}  // namespace millrace
