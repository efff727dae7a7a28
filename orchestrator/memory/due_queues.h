// DueQueues: due timers that were not fired yet, in a queue for each namespace. The namespaces take
// turns, so that many timers of one namespace do not hold up the timers of others. Timers of
// delayed events, of events in groups and of schedules have one queue together. Engine thread only.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/time.h"
#include "orchestrator/memory/due_timer.h"

namespace millrace {

class DueQueues {
 public:
  /// Puts a timer behind the others of its queue.
  void put(const TimerInput& timer);

  /// Moves timers to `due`, at most `most`: of each namespace in turn the first one of its queue,
  /// unless that has a deadline after `time`.
  void take(TimePoint time, std::vector<TimerInput>& due, size_t most);

  /// The earliest deadline of the timers that come first in their queues; nullopt: there are none.
  std::optional<TimePoint> next() const;

 private:
  std::map<NamespaceNumber, std::deque<TimerInput>> queues_;  ///< none is empty
  NamespaceNumber last_{};                                    ///< the one that had the last turn
};

}  // namespace millrace
