// Incomplete groups as the reason why a workflow has not started. For one thread only.
#pragma once

#include <string>

#include "cli/session.h"

namespace millrace {

/// Says on one line that events wait in incomplete groups of the workflow, and which command lists
/// them; empty: none waits, or the server does not say.
std::string incomplete_groups_text(Session& session, const std::string& workflow);

}  // namespace millrace
