// `millrace test`: plays the scenarios that stand beside workflows.
#pragma once

#include "cli/console.h"
#include "cli/program_verbs.h"

namespace millrace {

/// Plays all scenarios of the paths and reports each. Exit kInstanceFailed: some did not pass;
/// kFindings: a file or a workflow is wrong; kNotFound: there are none.
Ended test_workflows(Console& console, const TestOptions& options);

}  // namespace millrace
