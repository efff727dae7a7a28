#include "orchestrator/loop/longest_turns.h"

namespace millrace {

void LongestTurns::add(Duration now, const TurnTime& turn) {
  const int64_t number = now / kSlot;
  Slot& slot = slots_[static_cast<size_t>(number) % slots_.size()];
  if (slot.number != number) slot = {.number = number, .longest = {}};
  if (turn.elapsed > slot.longest.elapsed) slot.longest = turn;
}

TurnTime LongestTurns::longest(Duration now) const {
  const int64_t oldest = now / kSlot - static_cast<int64_t>(kSlots) + 1;
  TurnTime longest;
  for (const Slot& slot : slots_) {
    const bool is_longer = slot.longest.elapsed > longest.elapsed;
    if (slot.number >= oldest && is_longer) longest = slot.longest;
  }
  return longest;
}

}  // namespace millrace
