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

/// Whether nothing serves the service now: the settings do not name it, and no worker asks for its
/// tasks. `global` as of NamesService.
using IsUnserved = std::function<bool(const std::string& service, bool global)>;

/// Whether the settings name no URL and no subject of the service, so that workers take its tasks.
/// `global` as of NamesService. Empty if the settings are unknown.
using HasWorkers = std::function<bool(const std::string& service, bool global)>;

/// Adds `lint.call_unbounded` for each call of a service without any timeout: a warning if the
/// settings do not name the service, a note if the settings are unknown. Adds `lint.call_never` for
/// each function with an image that no container may have.
/// Adds `lint.service_unserved` for each function whose service is unserved; none if that is not
/// known (null).
/// Adds `lint.files_for_workers` for each function with files whose service has workers: a note if
/// the settings are unknown.
void lint_calls(const Node& document, const NamesService& names_service,
                const HasWorkers& has_workers, const IsUnserved& is_unserved, Findings& findings);

}  // namespace millrace
