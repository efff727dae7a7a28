// DueTimers: which timers are fired when. Those that an event still in the stream may overtake are
// held back until the stream was read so far; ticks of schedules wait while new work has to. What a
// batch takes from here comes back if the batch is lost. Engine thread only.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/batch_notes.h"
#include "base/ids.h"
#include "base/time.h"
#include "orchestrator/memory/due_timer.h"
#include "orchestrator/memory/wait_index.h"

namespace millrace {

/// Whether it starts something new.
bool is_tick(const TimerInput& timer);

class DueTimers {
 public:
  DueTimers(Waiting& waiting, const BatchCount& batches) : waiting_(waiting), changes_(batches) {}

  /// Which of those that were put back come with take().
  struct With {
    bool held = false;   ///< those with a deadline up to then
    bool ticks = false;  ///< all of them
  };
  /// Those that are due by `time`, in the order of their deadlines; what was put back comes before
  /// or behind them. Each is the caller's: to be fired, or put back.
  std::vector<TimerInput> take(TimePoint time, With with);

  /// It waits until the stream was read so far.
  void hold(TimerInput timer);
  /// It waits until new work is taken.
  void put_back_tick(TimerInput tick);

  bool has_tick_of(WorkflowNumber workflow) const;

  /// Forgets what was put back.
  void clear();
  /// The batch is lost: what was put back is as before. What it took from the wait index is the
  /// caller's to arm again (Waiting::undo).
  void undo();

 private:
  /// What the batch in hand has changed.
  struct Changes {
    std::vector<TimerInput> released;              ///< from the front of held_
    size_t newly_held = 0;                         ///< at the end of held_
    std::optional<std::vector<TimerInput>> ticks;  ///< before it
  };
  void note_ticks();

  Waiting& waiting_;
  std::vector<TimerInput> held_;
  std::vector<TimerInput> ticks_;
  BatchNotes<Changes> changes_;
};

}  // namespace millrace
