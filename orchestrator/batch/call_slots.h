// Call slots: the rows and counts of the tasks that hold a slot of their service, or that wait for
// one or for the throttle of their service (`concurrency` and `throttle` of a function or an
// action; call_slot_rows.h). Everything is in the batch that creates or ends the task, so no slot
// is lost or held twice after a crash. call_throttles.h says which tasks wait for a throttle,
// call_queues.h lets the next of those that wait be handed out. Engine thread only.
#pragma once

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "model/effect.h"
#include "model/instance.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/store/rows/call_slot_rows.h"

namespace millrace {

/// Gives a new task with a slot (StartTask::slot) its number and a free slot of its key, or a place
/// among those that wait, and writes its rows. Each task goes by its own limit; a task waits also
/// if others of the key wait, or if its service is paused.
Result<CallPlace> take_call_slot(BatchState& batch, StartTask& task);

/// Ends a task that exists, with its row, and frees its slot and takes it out of its queues.
Status end_task(BatchState& batch, const InstanceId& task);

/// Sets what the tasks of a key are for, from the newest one, which has a slot, or a throttle if
/// the key is one of throttles.
void describe_calls(CallSlotCounts& counts, const StartTask& task, const CallSlotKey& key);
/// Counts one task of the kind more or less.
void count_more(CallSlotCounts& counts, QueueRow kind);
void count_less(CallSlotCounts& counts, QueueRow kind);

/// The counts of a key; all zero: there are none. If their row is damaged, notes that and counts
/// the rows of the tasks.
Result<CallSlotCounts> call_counts_of(BatchState& batch, const CallSlotKey& key);
/// Counts the rows of the tasks, and writes the row of counts.
Result<CallSlotCounts> recount_calls(BatchState& batch, const CallSlotKey& key);

/// Frees slots of holders that no longer exist, because damaged rows were removed, while no slot of
/// the limit is free. Changes `counts` with their row.
Status drop_gone_calls(BatchState& batch, const CallSlotKey& key, CallSlotCounts& counts,
                       uint32_t limit);

/// Whether calls of the service are held: it is paused, or settings cannot be read.
bool is_service_held(const BatchState& batch, NamespaceNumber ns, const SlotService& service);

/// Puts the calls of an instance that is no longer paused back to their places among those that
/// wait for a slot or a throttle. The timeouts of their waits begin again.
Status rejoin_calls(BatchState& batch, const Instance& instance, TimePoint now);

/// Ends the tasks of a cancelled instance that wait for a slot or a throttle: no service has them.
/// Each call gets the error as its result.
Status end_waiting_calls(BatchState& batch, const Instance& instance);

}  // namespace millrace
