// DueQueues: due timers that were not fired yet, in a queue for each lane, a workflow of a
// namespace. The namespaces take turns, and within a namespace its workflows, so that many timers
// of one workflow do not hold up the timers of others. Timers of delayed events, of events in
// groups and of schedules have one queue together. Engine thread only.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/time.h"
#include "model/work_lane.h"
#include "orchestrator/memory/due_timer.h"

namespace millrace {

class DueQueues {
 public:
  /// Puts a timer behind the others of its queue.
  void put(const TimerInput& timer);

  /// Moves timers to `due`, at most `most`: of each namespace in turn the first one of the next of
  /// its queues, without queues whose first timer has a deadline after `time`.
  void take(TimePoint time, std::vector<TimerInput>& due, size_t most);

  /// The earliest deadline of the timers that come first in their queues; nullopt: there are none.
  std::optional<TimePoint> next() const;

 private:
  struct Space {
    std::map<WorkflowNumber, std::deque<TimerInput>> queues;  ///< none is empty
    WorkflowNumber last{};                                    ///< the one that had the last turn
  };

  std::optional<TimerInput> take_first(NamespaceNumber ns, Space& space, TimePoint time);

  std::map<NamespaceNumber, Space> spaces_;  ///< none is empty
  NamespaceNumber last_{};                   ///< the one that had the last turn
  /// The deadline of the first timer of each queue.
  std::set<std::pair<TimePoint, WorkLane>> firsts_;
};

}  // namespace millrace
