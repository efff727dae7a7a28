// Call throttles: which calls wait for the throttle of their service (`throttle` of a function or
// an action), and their rows (call_slot_rows.h). StartRates counts the calls that it lets pass, as
// it counts starts, in the batch that hands out the task. A task that needs a slot gets it first,
// and holds it while it waits. call_queues.h says when the next of those that wait passes. Engine
// thread only.
#pragma once

#include <optional>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "model/effect.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/store/rows/call_slot_rows.h"

namespace millrace {

class Instances;

/// Why no task with that throttle may begin: `millrace.quota.startKeys`. nullopt: it may.
/// Precondition: the task has a throttle.
Result<std::optional<Error>> refusal_of_call_throttle(BatchState& batch, const StartTask& task);

/// The value of the row of a task that waits for its throttle since `since`.
CallPlaceRecord throttled_record(const StartTask& task, TimePoint since);

/// Lets a task pass its throttle, and counts it; or gives it a place among those that wait, and
/// writes its rows. A task waits also if others of the key wait, or if its service is paused.
/// Returns whether the task may be handed out. Preconditions: it has a throttle, with its number;
/// it has its slot, or needs none; TaskDispatch knows it.
Result<bool> pass_call_throttle(BatchState& batch, const StartTask& task, TimePoint now);

/// Lets the task pass that is first among those that wait, and counts it; that of a paused instance
/// is left out instead. Returns the counts of the key after that. Precondition: the throttle
/// permits it.
Result<CallSlotCounts> release_first_call(BatchState& batch, Instances& instances,
                                          const CallSlotKey& key, const PlacedCall& first,
                                          TimePoint now);

}  // namespace millrace
