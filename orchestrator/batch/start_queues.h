// StartQueues: lets the starts begin that wait (slots.h), in the order of their priority and of
// their commit: gives them free slots, or lets them pass the throttle when it permits a start. A
// slot that an input frees is given away in the same batch, as far as the unit of work suffices;
// what is left waits in the lane of its workflow, so the workflows take turns. One timer is armed
// for the first time at which the throttle of some key permits its next start. An admitted instance
// makes its first step at once if the unit of work has time for it. Memory only: a starting process
// reviews all keys. Engine thread only.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/due_keys.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/key_lanes.h"
#include "orchestrator/store/rows/queue_rows.h"

namespace millrace {

class StartQueues {
 public:
  StartQueues(BatchState& batch, Instances& instances) : batch_(batch), instances_(instances) {}

  /// Reviews all workflows that have slots or starts that wait, and disarms the timer of the
  /// throttles until their keys were looked at. Precondition: the catalog is loaded.
  Status load();

  /// Sets how many starts run() and go_on() may admit until the next call of begin_batch().
  void begin_batch(size_t most) { left_ = most; }

  /// Whether the unit of work has freed slots, or the timer of the throttles has fired, so that
  /// run() has something to do.
  bool has_new() const {
    return !batch_.woken.empty() || !batch_.reviewed.empty() || batch_.has_due_throttle;
  }
  /// Admits the starts that may begin since this unit of work. What exceeds the unit waits, and so
  /// does all of a lane that has other keys waiting.
  Status run(TimePoint now);

  /// The lanes that have keys to look at.
  std::vector<WorkLane> lanes() const { return lanes_.owners(); }
  bool empty() const { return lanes_.empty(); }
  /// Whether the lane has such keys, and this batch may still admit a start.
  bool may_go_on(const WorkLane& lane) const { return left_ > 0 && lanes_.contains(lane); }
  /// Admits the next start of the lane, or looks at some further keys of a review.
  Status go_on(TimePoint now, const WorkLane& lane);

 private:
  using Lanes = KeyLanes<SlotKey>;

  /// The lane of the workflow; nullopt: the workflow does not exist.
  std::optional<WorkLane> lane_of_workflow(WorkflowNumber workflow) const;
  Status review(WorkflowNumber workflow, Lanes::Lane& lane);
  Result<bool> admit_next(TimePoint now, const SlotKey& key);
  Result<bool> admit(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                     const SlotKey& key, SlotCounts counts, const SlotPlace& first);
  Status give_slot(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                   const SlotKey& key, LoadedInstance& loaded);
  Status release(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                 const SlotKey& key, LoadedInstance& loaded);
  Status begin(TimePoint now, LoadedInstance& loaded);
  Result<bool> has_room(TimePoint now, const Workflow& workflow, const SlotKey& key,
                        const SlotCounts& counts);
  /// The newest revision; null: no start of the workflow may be admitted now.
  Result<std::shared_ptr<const Workflow>> admitting(const WorkflowEntry& entry);
  void put_due(const SlotKey& key, TimePoint at);
  std::vector<SlotKey> take_due(TimePoint now);
  void arm();

  BatchState& batch_;
  Instances& instances_;
  Lanes lanes_;
  /// The keys of throttles with a start that waits, and when the throttle permits the next one.
  DueKeys<SlotKey> due_;
  size_t left_ = 0;
};

}  // namespace millrace
