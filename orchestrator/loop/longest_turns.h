// LongestTurns: the longest turn of the engine thread in the last minute, with its parts. A turn is
// the result for a minute, so each reader sees it that looks once in a minute. Pure: the time is an
// argument.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/time.h"
#include "orchestrator/loop/turn_times.h"

namespace millrace {

class LongestTurns {
 public:
  /// Adds a turn that ended at `now`, a time of a steady clock (Clock::elapsed()).
  void add(Duration now, const TurnTime& turn);

  /// The turn that took longest, of those that ended at most a minute before `now`. A turn
  /// counts for up to kSlot longer. All parts are 0: there was no turn.
  TurnTime longest(Duration now) const;

 private:
  static constexpr Duration kSlot{5'000};
  static constexpr size_t kSlots = 13;  // a minute, and the slot that is being filled

  /// The longest turn that ended within one multiple of kSlot.
  struct Slot {
    int64_t number = std::numeric_limits<int64_t>::min();  ///< the time divided by kSlot
    TurnTime longest;
  };

  std::array<Slot, kSlots> slots_;
};

}  // namespace millrace
