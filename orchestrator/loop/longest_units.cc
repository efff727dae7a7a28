#include "orchestrator/loop/longest_units.h"

#include <algorithm>

namespace millrace {

void LongestUnits::add(Duration now, const LongestUnit& unit) {
  const int64_t number = now / kSlot;
  Slot& slot = slots_[static_cast<size_t>(number) % slots_.size()];
  if (slot.number != number) slot = {.number = number};
  std::chrono::nanoseconds& longest = slot.longest[static_cast<size_t>(unit.kind)];
  longest = std::max(longest, unit.time);
}

std::chrono::nanoseconds LongestUnits::of_kind(Duration now, UnitKind kind) const {
  const int64_t oldest = now / kSlot - kSlots + 1;
  std::chrono::nanoseconds longest{0};
  for (const Slot& slot : slots_) {
    if (slot.number >= oldest) longest = std::max(longest, slot.longest[static_cast<size_t>(kind)]);
  }
  return longest;
}

LongestUnit LongestUnits::longest(Duration now) const {
  LongestUnit longest;
  for (size_t i = 0; i < kUnitKinds; ++i) {
    const auto kind = static_cast<UnitKind>(i);
    const std::chrono::nanoseconds time = of_kind(now, kind);
    if (time > longest.time) longest = {.time = time, .kind = kind};
  }
  return longest;
}

}  // namespace millrace
