// Queueing: an instance that waits for a slot of its workflow (`concurrency`) before its first run.
// orchestrator/batch decides who waits and who is next; these functions change the instance.
#pragma once

#include "base/time.h"
#include "model/instance.h"
#include "orchestrator/engine/step_context.h"
#include "orchestrator/engine/stimulus.h"
#include "states/workflow.h"

namespace millrace {

/// Makes a new instance wait for a slot: none of its timeouts counts except that of the wait.
void hold_in_queue(Instance& instance, const Workflow& workflow, Slot slot, TimePoint now);

/// Arms the timeout of the wait for a slot, if the workflow sets one.
void arm_queue(Instance& instance, const Workflow& workflow, TimePoint now);

/// Ends an instance whose wait for a slot has timed out as failed, without `on_failure` and another
/// run: nothing of it has run. Error `millrace.concurrency.timeout`.
void give_up_slot(StepContext& step, TimePoint deadline);

void apply(StepContext& step, const Admitted& admitted);

}  // namespace millrace
