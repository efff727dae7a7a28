// `millrace test`: runs the scenarios that belong to workflows.
#pragma once

#include "cli/console.h"
#include "cli/program_verbs.h"

namespace millrace {

/// Runs all scenarios below `options.paths` and prints the result of each. Exit codes:
/// kInstanceFailed if a scenario did not pass, kFindings if a file or a workflow is wrong,
/// kNotFound if there are no scenarios, kInterrupted at SIGINT or SIGTERM.
Ended test_workflows(Console& console, const TestOptions& options);

}  // namespace millrace
