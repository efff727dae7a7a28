// The checks of lint that look at calls: those that nothing ends, of a service for which no worker
// may ever come, and those that are always refused. Private to orchestrator/definition/. Pure.
#pragma once

#include <functional>
#include <string>

#include "language/document.h"
#include "language/findings.h"

namespace millrace {

/// Whether settings name the service; `global` ones are those of the namespace `default`. Absent
/// where the settings are not known.
using NamesService = std::function<bool(const std::string& service, bool global)>;

/// Adds `lint.call_unbounded` for each action on a service that no timeout ends: a warning where
/// the settings do not name the service, a note where they are not known. Adds `lint.call_never`
/// for a call of a singular workflow by itself.
void lint_calls(const Node& document, const NamesService& names_service, Findings& findings);

}  // namespace millrace
