// Call waits: how the wait of a call for a slot or the throttle of its service ends otherwise than
// by its turn, and how long it lasts (`timeout` of `concurrency` and of `throttle`). A pause of the
// instance or of the service holds the timeout, and after it the time begins again. call_slots.h
// and call_throttles.h say which calls wait. Engine thread only.
#pragma once

#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "model/effect.h"
#include "model/instance.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/engine/stimulus.h"
#include "orchestrator/outgoing/task_dispatch.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

class Instances;

/// The errors of a call that has waited for its slot, or for its throttle, too long.
inline constexpr std::string_view kCallSlotTimeout = "millrace.concurrency.timeout";
inline constexpr std::string_view kCallThrottleTimeout = "millrace.throttle.timeout";

/// When the wait of a task for its slot ends that began at `since`; nullopt: it has no timeout.
/// Precondition: the task has a slot.
std::optional<TimePoint> end_of_slot_wait(const StartTask& task, TimePoint since);

/// For what a task waits: `a slot of service "bank" (limit 3, key "c-1")`, or `the throttle of …`.
/// A key that may contain data of a secret is not shown. Empty: it waits for neither. Errors: those
/// of the view.
Result<std::string> awaited_limit(const View& view, const TaskDispatch& tasks,
                                  const InstanceId& task);

/// Whether the instance that made the call of the task is paused.
Result<bool> is_caller_paused(Instances& instances, const OpenTask& task, TimePoint now);

/// Takes a task of a paused instance out of the order of those that wait; rejoin_calls() puts it
/// back. Precondition: the task waits with that row.
Status leave_out_call(BatchState& batch, const CallSlotKey& key, const PlacedCall& call,
                      TimePoint now);

/// Lets the timeout of a task that waits begin again.
Status restart_call_wait(BatchState& batch, const InstanceId& task, TimePoint now);
/// Likewise those of all calls of the instance whose services are resumed.
Status restart_call_waits(BatchState& batch, const Instance& instance,
                          const ServicesResumed& resumed, TimePoint now);

/// Leaves out the calls of an instance that was paused now: those behind them may have room.
Status leave_out_calls(BatchState& batch, const Instance& instance, TimePoint now);

/// Ends a task whose wait has lasted as long as its timeout permits: the call gets kCallSlotTimeout
/// or kCallThrottleTimeout as its result. That of a paused instance is left out instead, and that
/// of a paused service waits on.
Status end_call_wait(BatchState& batch, Instances& instances, const InstanceId& task,
                     TimePoint now);
/// Likewise all tasks whose wait has lasted so long, a bounded number. The others follow with the
/// next firing of the timer.
Status end_call_waits(BatchState& batch, Instances& instances, TimePoint now);

}  // namespace millrace
