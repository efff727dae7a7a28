// Control: what an operator does with an instance: cancel, pause, resume, bring back after its end,
// give up. Private to the engine.
#pragma once

#include <cstddef>

#include "orchestrator/engine/stimulus.h"

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

// While a cancelled instance lets its tasks finish (Cancel::at_once is false).

/// The task of that call is over; after the last one the instance ends.
void finish_task(StepContext& step, size_t index);
/// Stops the task of that call; after the last one the instance ends.
void stop_task(StepContext& step, size_t index);
/// Stops the tasks whose timeouts have passed.
void stop_overdue_tasks(StepContext& step);

}  // namespace millrace
