// The id of an instance that an event starts. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/event.h"
#include "base/ids.h"
#include "base/time.h"
#include "model/cursor.h"
#include "model/instance.h"

namespace millrace {

/// What is known of an event whose match is decided late (late_matches.h).
struct LateEvent {
  uint64_t number = 0;     ///< of the event among the kept events
  TimePoint after_timers;  ///< KeptEventRecord::after_timers
};

/// An event of the event stream that the current batch applies, or that it decides late.
struct AppliedEvent {
  const Event& event;
  EventPosition position;
  int64_t stream_created = 0;  ///< when its stream was created (Cursor::stream_created)
  TimePoint stamped;           ///< when the broker stored the event
  Fingerprint known_as{};      ///< the fingerprint of its namespace, source and id
  /// Whether no instance in the store can have an id that follows from the event. False: the event
  /// may have been applied before.
  bool is_new = true;
  std::optional<LateEvent> late = {};  ///< set if the event is decided late
};

/// Makes the id of the instance of `workflow` that the event starts, alone or as the event that
/// completes a group. A store that was restored from a backup, and that applies the event again,
/// makes the same id, on every machine. So the id contains neither the engine time nor the number
/// that the store gave to the stream.
///
/// The time at which the broker stored the event and the low 12 bits of its sequence come first, so
/// that ids sort in the order of the events; 62 bits of a fingerprint follow. The fingerprint is
/// keyed (Lookup::id_key), so that the ids of other instances cannot be guessed; with an empty key
/// it is not keyed. It covers:
/// - the stream, the sequence and the stored time in milliseconds, which is how exactly millrace
///   reads it. So an event that is stored a second time gets another id, and so does an event that
///   got the sequence of one that the broker has lost.
/// - the fingerprint of the event, for the case that both are equal.
/// - the number of the workflow. A workflow that is deleted and applied again has another number.
InstanceId event_start_id(std::string_view key, const AppliedEvent& applied,
                          WorkflowNumber workflow);

}  // namespace millrace
