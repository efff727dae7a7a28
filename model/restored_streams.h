// RestoredStreams: what a store that was restored from a backup, or copied, records about the
// streams of millrace. Such a store applies events again, and so makes messages again that another
// process has sent. The record says where the streams may have these messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/time.h"
#include "model/cursor.h"

namespace millrace {

struct RestoredStreams {
  /// The end of a stream when the store opened it for the first time: no other process has sent a
  /// message after it.
  struct End {
    int64_t created = 0;  ///< when the stream was created, in nanoseconds
    uint64_t last_sequence = 0;

    bool operator==(const End&) const = default;
  };

  /// The broker stored these messages at this time or later, by its clock; the epoch: at any time.
  TimePoint since;
  /// When the store opened the streams for the first time.
  std::optional<TimePoint> opened = std::nullopt;
  std::map<std::string, End> ends = {};  ///< by the name of the stream

  bool operator==(const RestoredStreams&) const = default;
};

/// How long before the time of the cursor the broker may have stored a message that the store does
/// not have as acknowledged: the store records an acknowledgement later than the broker sends it.
inline constexpr Duration kUnrecordedFor = std::chrono::minutes(2);

/// How long after the first opening a message that is made again is still recognized: the time for
/// which the streams keep messages by default.
inline constexpr Duration kRecognizedFor = std::chrono::days(7);

/// The record of a store that has this cursor and has not opened the streams yet.
inline RestoredStreams restored_at(const Cursor& cursor) {
  return {.since = std::max(cursor.stamped, TimePoint() + kUnrecordedFor) - kUnrecordedFor};
}

/// Whether messages that are made again are not recognized any more.
inline bool is_over(const RestoredStreams& streams, TimePoint now) {
  return streams.opened && now >= *streams.opened + kRecognizedFor;
}

}  // namespace millrace
