// DueTimers: decides when due timers are fired. A timer that an event still in the stream may
// overtake is held until the stream was read up to the deadline of the timer; ticks of schedules
// wait during backpressure. Changes made for a batch are undone if the batch is lost. Engine thread
// only.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "base/batch_notes.h"
#include "base/ids.h"
#include "base/time.h"
#include "orchestrator/memory/due_timer.h"
#include "orchestrator/memory/wait_index.h"

namespace millrace {

/// Whether the timer is a tick of a schedule, which starts a new instance.
bool is_tick(const TimerInput& timer);

class DueTimers {
 public:
  DueTimers(WaitIndex& waiting, const BatchCount& batches) : waiting_(waiting), changes_(batches) {}

  /// Which timers take() returns besides those that become due: timers that were held or put back.
  struct With {
    bool held = false;   ///< held timers with a deadline up to `time`
    bool ticks = false;  ///< all ticks that were put back
  };
  /// Returns timers that are due by `time`, at most `most`, in the order of WaitIndex::advance();
  /// timers that were not fired and held timers come first, and ticks that were put back last. The
  /// caller fires each timer or puts it back. If has_left() is true afterwards, further calls
  /// continue; a call may return no timer (Wheel::advance).
  std::vector<TimerInput> take(TimePoint time, With with, size_t most = Wheel::kAll);
  /// Whether timers were put back that were not fired, or the last take() may have left timers that
  /// it could have returned.
  bool has_left() const { return has_left_ || !unfired_.empty(); }

  /// Holds the timer until the event stream was read up to the deadline of the timer.
  void hold(TimerInput timer);
  /// Keeps timers that take() returned for the next take(), in their order.
  void put_back(std::vector<TimerInput> timers);
  /// Keeps the tick until new work is accepted again.
  void put_back_tick(TimerInput tick);

  bool has_tick_of(WorkflowNumber workflow) const;

  /// Forgets all timers that were held or put back.
  void clear();
  /// Undoes the changes of a batch that was lost. The caller arms the timers again that the batch
  /// took from the wait index (WaitIndex::undo).
  void undo();

 private:
  /// The changes of the current batch.
  struct Changes {
    /// Timers of earlier batches that the batch took from the front of held_.
    std::vector<TimerInput> released;
    size_t newly_held = 0;  ///< how many timers at the end of held_ the batch added
    std::optional<std::vector<TimerInput>> ticks;    ///< the ticks before the batch
    std::optional<std::vector<TimerInput>> unfired;  ///< unfired_ before the batch
  };
  void release(TimePoint time, std::vector<TimerInput>& due, size_t most);
  void take_unfired(TimePoint time, bool with_held, std::vector<TimerInput>& due, size_t most);
  void note_ticks();
  void note_unfired();

  WaitIndex& waiting_;
  std::deque<TimerInput> held_;
  std::vector<TimerInput> ticks_;
  std::vector<TimerInput> unfired_;  ///< those that put_back() got
  bool has_left_ = false;
  BatchNotes<Changes> changes_;
};

}  // namespace millrace
