// FanOuts: events that concern more instances than one batch may wake. Such an event is held among
// the recent ones (orchestrator/memory/kept_events.h), and batch by batch some more of its targets
// are offered what was kept for them. Whoever is concerned by something else before its turn comes
// is offered first, so each instance sees its events in their order. A row says that the event is
// under way; whom it has still to reach is found by matching again: those it has woken listen from
// behind it. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/instances.h"

namespace millrace {

class FanOuts {
 public:
  FanOuts(Draft& draft, Instances& instances) : draft_(draft), instances_(instances) {}

  /// Finds those that the store says are under way; Waiting and Recent are loaded by then.
  Status load();

  /// Begins one with the newest kept event.
  Status begin(const std::vector<InstanceTarget>& targets);

  /// Offers the next `most` targets what is kept for them.
  Status go_on(TimePoint now, size_t most);

  bool empty() const { return under_way_.empty(); }
  /// How many targets are still to be reached.
  size_t left() const;

 private:
  struct FanOut {
    uint64_t number = 0;  ///< of the kept event
    NamespaceNumber space{};
    std::vector<InstanceId> targets;
    size_t done = 0;  ///< of them
  };
  Draft& draft_;
  Instances& instances_;
  std::deque<FanOut> under_way_;  // by number
};

}  // namespace millrace
