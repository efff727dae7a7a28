// Where reading goes on after a start or a reconnect (ARCHITECTURE "What a broker leaves"). Pure:
// the JetStream reader and the broker in memory share these decisions.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "model/cursor.h"
#include "orchestrator/ports/event_stream.h"

namespace millrace {

/// What the stream says of itself when it is opened.
struct StreamState {
  int64_t created = 0;  ///< nanoseconds
  uint64_t first_sequence = 0;
  uint64_t last_sequence = 0;
};

/// Read from this sequence on; or, if `since` is set, from the first message stamped then or later.
struct ResumePoint {
  uint64_t sequence = 1;
  std::optional<TimePoint> since;
  /// What shows by the way. Where a tail begins that is gone is known only once `since` was looked
  /// up.
  std::optional<BrokerLoss> loss;

  bool operator==(const ResumePoint&) const = default;
};

/// `stamped`: when the broker took the message that it now has at the cursor's sequence; nullopt if
/// it has none there, or was not asked. Behind the cursor, but from the first message when the
/// stream is another one or has dropped what comes next. A broker that lost its tail, seen by its
/// last sequence or by another message in the cursor's place, is read from the cursor's time on:
/// what it took since is new, and what is of the same millisecond may come twice. A cursor without
/// a time has seen nothing of its stream yet: there the whole stream is new.
ResumePoint resume_point(const Cursor& cursor, const StreamState& stream,
                         std::optional<TimePoint> stamped);

/// The cursor for `point`, behind which nothing was applied. Of the same stream it keeps its time:
/// all that the broker took before that is dealt with.
Cursor position_at(const ResumePoint& point, const Cursor& cursor, const StreamState& stream);

/// Whether resume_point wants to know `stamped`.
bool must_ask_for_stamp(const Cursor& cursor, const StreamState& stream);

}  // namespace millrace
