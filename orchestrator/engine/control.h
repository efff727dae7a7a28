// Control: the operations of an operator on an instance: cancel, pause, resume, abandon, and start
// a new run of an ended instance. Private to the engine.
#pragma once

#include <cstddef>

#include "orchestrator/engine/stimulus.h"
#include "policies/timeout_policy.h"

namespace millrace {

struct StepContext;

void apply(StepContext& step, const Cancel& cancel);
void apply(StepContext& step, const Pause& pause);
void apply(StepContext& step, const Resume& resume);
void apply(StepContext& step, const ServicesResumed& resumed);
void apply(StepContext& step, const Retry& retry);
void apply(StepContext& step, const Restart& restart);
void apply(StepContext& step, const Rerun& rerun);
void apply(StepContext& step, const Abandon& abandon);

// For a cancelled instance whose running tasks may finish (Cancel::at_once is false).

/// Records how the task of the call has ended; after the last task the instance ends. If the task
/// has a result, its work is noted for a compensation.
void finish_task(StepContext& step, const Returned& returned);
/// Stops the task of the call `index` because of that timeout; after the last task the instance
/// ends.
void stop_task(StepContext& step, size_t index, TimeoutKind kind);
/// Stops the tasks of calls that have a passed timeout.
void stop_overdue_tasks(StepContext& step);

}  // namespace millrace
