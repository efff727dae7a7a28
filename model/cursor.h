// Cursor: the position up to which the event stream is applied, and the position of one event.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace millrace {

/// The position up to which the event stream is applied. The cursor is written in the commit of the
/// batch that applied the events up to this position.
struct Cursor {
  /// When the stream was created, in nanoseconds since the epoch; distinguishes the stream from one
  /// that was created again under the same name.
  int64_t stream_created = 0;
  uint64_t sequence = 0;  ///< sequence of the last applied message; 0: no message is applied yet
  TimePoint stamped;      ///< when the broker stored the last applied message

  bool operator==(const Cursor&) const = default;
};

/// The position of an event among all events that the store has applied. A stream that is created
/// again gets another number, because its sequences begin at 1 again.
struct EventPosition {
  uint32_t stream = 0;  ///< the number of the stream (stream_rows.h); 0: no stream yet
  uint64_t sequence = 0;

  auto operator<=>(const EventPosition&) const = default;
};

}  // namespace millrace
