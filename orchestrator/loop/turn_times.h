// TurnTimes: how long one turn of the engine thread took, and its units of work. Plain values.
#pragma once

#include <array>

#include "orchestrator/batch/unit_kind.h"
#include "orchestrator/batch/unit_meter.h"

namespace millrace {

/// How long the parts of a turn took, from the begin of each until its end: with the time in which
/// the thread waited for a processor, for the disk or for a lock.
struct TurnTime {
  WorkTime elapsed{};  ///< of all parts
  WorkTime apply{};    ///< to apply the inputs, and to make the write-set of the batch
  WorkTime commit{};   ///< to write the batch to the journal, with its sync, and into memory
  WorkTime perform{};  ///< to perform its actions, and to send what had to wait
  /// The processor time of the engine thread in the turn; 0: the turn was too short to read it.
  WorkTime processor{};
};

struct TurnTimes {
  TurnTime turn;
  /// The longest units of the turn, by kind; 0: there was none.
  std::array<UnitTime, kUnitKinds> units{};
};

}  // namespace millrace
