#include "broker/resume.h"

#include <algorithm>

namespace millrace {

bool must_ask_for_stamp(const Cursor& cursor, const StreamState& stream) {
  return cursor.stream_created == stream.created && cursor.sequence >= stream.first_sequence &&
         cursor.sequence <= stream.last_sequence && cursor.sequence > 0;
}

ResumePoint resume_point(const Cursor& cursor, const StreamState& stream,
                         std::optional<TimePoint> stamped) {
  using Kind = BrokerLoss::Kind;
  const uint64_t first = std::max<uint64_t>(stream.first_sequence, 1);
  if (cursor.stream_created == 0) return {.sequence = first};
  if (cursor.stream_created != stream.created) {
    return {.sequence = first, .loss = BrokerLoss{Kind::kStream, cursor.sequence, cursor.sequence}};
  }

  const bool beyond = cursor.sequence > stream.last_sequence;
  const bool replaced = stamped && *stamped != cursor.stamped;
  if (beyond || replaced) {
    ResumePoint point{.sequence = first};
    if (cursor.stamped != TimePoint()) point.since = cursor.stamped;
    point.loss = BrokerLoss{Kind::kTail, first, cursor.sequence};
    return point;
  }
  ResumePoint point{.sequence = std::max(cursor.sequence + 1, first)};
  if (first > cursor.sequence + 1) {
    point.loss = BrokerLoss{Kind::kDropped, cursor.sequence + 1, first - 1};
  }
  return point;
}

Cursor position_at(const ResumePoint& point, const Cursor& cursor, const StreamState& stream) {
  const bool same = cursor.stream_created == stream.created;
  return {.stream_created = stream.created,
          .sequence = point.sequence - 1,
          .stamped = same ? cursor.stamped : TimePoint()};
}

}  // namespace millrace
