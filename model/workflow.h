// The name of Workflow (states/workflow.h) for ApplyWorkflow (input.h), which carries a pointer to
// one.
#pragma once

#include "model/definition.h"

namespace millrace {

struct Workflow;

}  // namespace millrace
