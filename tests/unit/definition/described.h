// All that a workflow says, as JSON: two texts are the same workflow if their descriptions are
// equal. What a state type keeps to itself is seen by what the state does with some sample data.
#pragma once

#include "base/json.h"
#include "states/workflow.h"

namespace millrace {

Json described(const Workflow& workflow);

}  // namespace millrace
