// Whether a stored instance fits its definition, as the error of a damaged row. Any thread.
#pragma once

#include "base/result.h"
#include "model/instance.h"
#include "states/workflow.h"

namespace millrace {

/// check_fit (orchestrator/engine/fit.h) of a living instance that was read; the error names its
/// head.
Status check_instance(const Workflow& workflow, const Instance& instance, TimePoint now);

}  // namespace millrace
