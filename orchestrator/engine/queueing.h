// Queueing: an instance that waits before its first run, for a slot of its workflow (`concurrency`)
// or for its throttle. orchestrator/batch decides who waits and who is next; these functions change
// the instance.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"
#include "model/instance.h"
#include "orchestrator/engine/step_context.h"
#include "orchestrator/engine/stimulus.h"
#include "states/workflow.h"

namespace millrace {

/// The errors of a start that has waited too long.
inline constexpr std::string_view kSlotTimeout = "millrace.concurrency.timeout";
inline constexpr std::string_view kThrottleTimeout = "millrace.throttle.timeout";

/// Makes a new instance wait for a slot: none of its timeouts counts except that of the wait.
void hold_in_queue(Instance& instance, const Workflow& workflow, Slot slot, TimePoint now);

/// Makes an instance wait for the throttle, likewise. `number`: of its row. Precondition:
/// Instance::throttled is set, and the instance does not wait for a slot.
void hold_for_throttle(Instance& instance, const Workflow& workflow, uint64_t number,
                       TimePoint now);

/// The detail of a record kQueued or kThrottled: {"priority"} and, if `key` is not empty, {"key"}.
Json wait_detail(int32_t priority, const std::string& key);

/// Arms the timeout of the wait for a slot, if the workflow sets one.
void arm_queue(Instance& instance, const Workflow& workflow, TimePoint now);

/// Arms the timeout of the wait for the throttle, if the workflow sets one.
void arm_throttle(Instance& instance, const Workflow& workflow, TimePoint now);

/// Ends an instance whose wait for a slot has timed out as failed, without `on_failure` and another
/// run: nothing of it has run. Error kSlotTimeout.
void give_up_slot(StepContext& step, TimePoint deadline);

/// As give_up_slot(), for a wait for the throttle. Error kThrottleTimeout.
void give_up_throttle(StepContext& step, TimePoint deadline);

void apply(StepContext& step, const Admitted& admitted);
void apply(StepContext& step, const Released& released);

}  // namespace millrace
