// Checks that a stored instance fits its definition; a mismatch is the error of a damaged row. Any
// thread.
#pragma once

#include "base/result.h"
#include "model/instance.h"
#include "states/workflow.h"

namespace millrace {

/// Calls check_fit (orchestrator/engine/fit.h) for a live instance that was read from the store;
/// the error names the row of the instance's head.
Status check_instance(const Workflow& workflow, const Instance& instance, TimePoint now);

}  // namespace millrace
