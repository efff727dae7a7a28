// Prints the report of a store check.
#pragma once

#include "base/json.h"
#include "cli/console.h"
#include "cli/output.h"

namespace millrace {

/// Prints the findings, and on standard error what to do about each kind of finding and a summary.
/// `report` has the form that to_json(StoreReport) returns. Exit kFailed: there are findings.
ExitCode show_findings(Console& console, Output& output, const Json& report);

}  // namespace millrace
