// FanOuts: events that match more instances than one batch may wake. Such an event is stored as a
// kept event (orchestrator/memory/kept_events.h), and each batch offers it to some more of its
// targets. If another input concerns a target that the fan-out has not reached, the target is first
// offered its kept events, so each instance gets its events in their order. A target gets all kept
// events when it is reached, so a later fan-out of the namespace does not name it again. A row
// records that the fan-out is not finished. After a restart the remaining targets are found by
// matching the event again: instances that the event has woken listen only to later events. The
// fan-outs of a namespace are one lane, and go on in their order. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include <boost/unordered/unordered_flat_set.hpp>

#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/instances.h"

namespace millrace {

class FanOuts {
 public:
  FanOuts(BatchState& batch, Instances& instances) : batch_(batch), instances_(instances) {}

  /// Reads the unfinished fan-outs from the store. Precondition: WaitIndex and KeptEvents are
  /// loaded.
  Status load();

  /// Starts a fan-out of the newest kept event to `targets`, at least one, which belong to the
  /// namespace of the event.
  Status begin(const std::vector<InstanceTarget>& targets);

  /// Sets how many targets go_on() may reach until the next call of begin_batch().
  void begin_batch(size_t most) { may_reach_ = most; }

  /// The lanes that have targets which fan-outs have not reached.
  std::vector<WorkLane> lanes() const;
  /// Whether the lane has such targets, and this batch may still reach one.
  bool may_go_on(const WorkLane& lane) const;
  /// Offers the next target of the lane its kept events, and further targets until the unit of work
  /// is used up.
  Status go_on(TimePoint now, const WorkLane& lane);

  /// Whether the instance is a target that no fan-out has reached: then it must be offered its kept
  /// events before anything else that comes to it. Any other instance has been offered all of them.
  bool has_target(NamespaceNumber ns, const InstanceId& instance) const {
    const auto lane = lanes_.find(ns);
    return lane != lanes_.end() && lane->second.pending.contains(instance);
  }

  bool empty() const { return lanes_.empty(); }
  /// The number of targets that fan-outs have not reached yet.
  size_t left() const;

 private:
  struct FanOut {
    uint64_t number = 0;  ///< number of the kept event
    std::vector<InstanceId> targets;
    size_t done = 0;  ///< number of targets that were reached
  };
  struct Lane {
    std::deque<FanOut> under_way;  ///< by number
    /// The targets that were not reached; each is a target of one of the fan-outs.
    boost::unordered_flat_set<InstanceId, std::hash<InstanceId>> pending;

    FanOut& add(uint64_t number);
    void add_target(FanOut& one, const InstanceId& target);
  };

  BatchState& batch_;
  Instances& instances_;
  std::map<NamespaceNumber, Lane> lanes_;
  size_t may_reach_ = 0;
};

}  // namespace millrace
