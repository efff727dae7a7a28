// The check of lint that looks at calls which nothing ends: of a service for which no worker may
// ever come. Private to orchestrator/definition/. Pure.
#pragma once

#include <functional>
#include <string>

#include "model/document.h"
#include "model/findings.h"

namespace millrace {

/// Whether settings name the service; `global` ones are those of the namespace `default`. Absent
/// where the settings are not known.
using NamesService = std::function<bool(const std::string& service, bool global)>;

/// Adds `lint.call_unbounded` for each action on a service that no timeout ends: a warning where
/// the settings do not name the service, a note where they are not known.
void lint_calls(const Node& document, const NamesService& names_service, Findings& findings);

}  // namespace millrace
