// CallQueues: gives free slots to the tasks that wait for them (call_slots.h), and lets those pass
// that wait for a throttle (call_throttles.h) when it permits a call, in the order of their
// priority and of their commit. What one unit of work cannot give away waits in the lane of its
// namespace, so the namespaces take turns. One timer is armed for the first permitted call or end
// of a wait. A task that gets its turn is handed out after the commit. Memory only: a starting
// process reviews all keys. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/due_keys.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/key_lanes.h"
#include "orchestrator/store/rows/call_slot_rows.h"

namespace millrace {

class CallQueues {
 public:
  CallQueues(BatchState& batch, Instances& instances) : batch_(batch), instances_(instances) {}

  /// Reviews all namespaces whose calls have slots or wait for throttles. Precondition: the catalog
  /// and the tasks are loaded.
  Status load();

  /// Sets how many tasks run() and go_on() may give a slot until the next call of begin_batch().
  void begin_batch(size_t most) { left_ = most; }

  /// Whether the unit of work has freed slots, or the timer of the throttles has fired, so that
  /// run() has something to do.
  bool has_new() const {
    return !batch_.woken_calls.empty() || !batch_.reviewed_calls.empty() ||
           batch_.has_due_call_throttle;
  }
  /// Gives away the slots that this unit of work has freed. What exceeds the unit waits, and so
  /// does all of a lane that has other keys waiting.
  Status run(TimePoint now);

  /// The lanes that have keys to look at.
  std::vector<WorkLane> lanes() const { return lanes_.owners(); }
  bool empty() const { return lanes_.empty(); }
  /// Whether the lane has such keys, and this batch may still give a slot away.
  bool may_go_on(const WorkLane& lane) const { return left_ > 0 && lanes_.contains(lane); }
  /// Gives the next task of the lane its slot, or looks at some further keys of a review.
  Status go_on(TimePoint now, const WorkLane& lane);

 private:
  using Lanes = KeyLanes<CallSlotKey>;
  /// What becomes of the turn of a task.
  enum class Turn : uint8_t {
    kTakes,  ///< it takes its turn
    kAgain,  ///< timers have fired, so the key is looked at again
    kWaits,  ///< its time is over, and it ends when the runner of another task has answered
  };

  Status review(NamespaceNumber ns, Lanes::Lane& lane);
  Result<bool> admit_next(TimePoint now, const CallSlotKey& key);
  Result<Turn> turn_of(TimePoint now, const InstanceId& task);
  Result<bool> admit(TimePoint now, const CallSlotKey& key, CallSlotCounts counts,
                     const PlacedCall& first);
  Result<bool> admit_throttled(TimePoint now, const CallSlotKey& key, const PlacedCall& first);
  Status hand_out(TimePoint now, const InstanceId& task);
  void arm();

  BatchState& batch_;
  Instances& instances_;
  Lanes lanes_;
  /// The keys of throttles with a task that waits, and when the throttle permits the next one.
  DueKeys<CallSlotKey> due_;
  size_t left_ = 0;
};

}  // namespace millrace
