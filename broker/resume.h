// Where reading continues after a start or a reconnect (docs/ARCHITECTURE.md describes broker
// failures). Pure. The JetStream reader and the broker in memory share these decisions.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "model/cursor.h"
#include "orchestrator/ports/event_stream.h"

namespace millrace {

/// The state of the stream when it is opened.
struct StreamState {
  int64_t created = 0;  ///< when the stream was created, in nanoseconds
  uint64_t first_sequence = 0;
  uint64_t last_sequence = 0;
};

/// Read from this sequence on; or, if `since` is set, from the first message that was stored at
/// that time or later.
struct ResumePoint {
  uint64_t sequence = 1;
  std::optional<TimePoint> since;
  /// The loss that was found. For a lost tail, the first lost sequence is known only after the
  /// position of `since` was looked up.
  std::optional<BrokerLoss> loss;

  bool operator==(const ResumePoint&) const = default;
};

/// Decides where to continue. `stamped` is the time at which the broker stored its present message
/// at the cursor's sequence; nullopt if the broker has no message there, or was not asked. Usually
/// reading continues after the cursor. If the stream is a different one or has dropped the next
/// messages, reading continues at its first message. If the broker lost the tail of the stream (its
/// last sequence is too small, or another message has the cursor's sequence), reading continues at
/// the cursor's time: messages stored since then are new, and those of the same millisecond may
/// come twice. A cursor without a time has read nothing of its stream yet: then all messages are
/// new.
ResumePoint resume_point(const Cursor& cursor, const StreamState& stream,
                         std::optional<TimePoint> stamped);

/// The cursor from which reading continues at `point`: no message after this cursor was applied. If
/// the stream is the same, the result has the time of `cursor`, because all messages that the
/// broker stored before that time are processed.
Cursor position_at(const ResumePoint& point, const Cursor& cursor, const StreamState& stream);

/// Whether resume_point needs `stamped`.
bool must_ask_for_stamp(const Cursor& cursor, const StreamState& stream);

}  // namespace millrace
