#include "broker/resume.h"

#include <algorithm>

namespace millrace {

bool must_ask_for_stamp(const Cursor& cursor, const StreamState& stream) {
  return cursor.stream_created == stream.created && cursor.sequence >= stream.first_sequence &&
         cursor.sequence <= stream.last_sequence && cursor.sequence > 0;
}

ResumePoint resume_point(const Cursor& cursor, const StreamState& stream,
                         std::optional<TimePoint> stamped) {
  const uint64_t first = std::max<uint64_t>(stream.first_sequence, 1);
  if (cursor.stream_created != stream.created || cursor.sequence == 0) return {.sequence = first};

  const bool beyond = cursor.sequence > stream.last_sequence;
  const bool replaced = stamped && *stamped != cursor.stamped;
  if (beyond || replaced) {
    if (cursor.stamped != TimePoint()) return {.sequence = first, .since = cursor.stamped};
    return {.sequence = std::min(cursor.sequence, stream.last_sequence) + 1};
  }
  return {.sequence = std::max(cursor.sequence + 1, first)};
}

}  // namespace millrace
