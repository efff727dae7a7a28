// Describes a workflow as JSON: two definitions are the same workflow if their descriptions are
// equal. For the private fields of a state type, the description has what the state does with
// sample data.
#pragma once

#include "base/json.h"
#include "states/workflow.h"

namespace millrace {

Json described(const Workflow& workflow);

}  // namespace millrace
