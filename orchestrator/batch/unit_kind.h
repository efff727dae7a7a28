// UnitKind: what a unit of work on the engine thread applies. While a unit runs, all other work of
// the engine waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace millrace {

enum class UnitKind : uint8_t {
  kEvent = 0,  ///< an event, or late matches of events
  kTimer = 1,
  kCommand = 2,
  kEvaluation = 3,       ///< the results of an evaluation
  kReport = 4,           ///< a report of a task, or an attempt that missed its heartbeat
  kContinuation = 5,     ///< an instance that continues
  kInstanceMessage = 6,  ///< a message from one instance to another
  kFanOut = 7,           ///< an instance that a fan-out reaches
  kPurge = 8,            ///< a portion of a purge, of the retention or of the archive
  kCommit = 9,           ///< the commit of a batch, without the sync of the disk
  kOther = 10,           ///< acknowledgements, starts of schedules, and other work between units
};
inline constexpr size_t kUnitKinds = 11;

/// The name of the kind in metric labels and in `/v1/info`: "event", "instance_message", …
std::string_view to_string(UnitKind kind);

}  // namespace millrace
