// LongestUnits: the longest units of work on the engine thread in the last minute, by kind. A unit
// is part of the result for a minute, so each reader sees it that looks once in a minute, however
// many readers there are. Pure: the time is an argument.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/time.h"
#include "orchestrator/batch/unit_kind.h"

namespace millrace {

struct LongestUnit {
  std::chrono::nanoseconds time{0};  ///< 0: there was no unit that took a measurable time
  UnitKind kind = UnitKind::kOther;
};

class LongestUnits {
 public:
  /// Adds a unit that ended at `now`, a time of a steady clock (Clock::elapsed()).
  void add(Duration now, const LongestUnit& unit);

  /// The longest time of a unit of this kind that ended at most a minute before `now`. A unit
  /// counts for up to kSlot longer.
  std::chrono::nanoseconds of_kind(Duration now, UnitKind kind) const;

  /// The longest unit of all kinds; of several, the first in the order of the kinds.
  LongestUnit longest(Duration now) const;

 private:
  static constexpr Duration kSlot{5'000};
  static constexpr int64_t kSlots = 13;  // a minute, and the slot that is being filled

  /// The longest units that ended within one multiple of kSlot.
  struct Slot {
    int64_t number = std::numeric_limits<int64_t>::min();  ///< the time divided by kSlot
    std::array<std::chrono::nanoseconds, kUnitKinds> longest{};
  };

  std::array<Slot, kSlots> slots_;
};

}  // namespace millrace
