// StoredEvents: the port that reads messages of the event stream again, beside the reader that
// delivers them to the engine. It changes nothing and acknowledges nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

/// The bounds of one StoredEvents::read(): so many messages, and so many bytes of their headers and
/// data. A single message may have more bytes.
inline constexpr size_t kMostStoredEvents = 1'000;
inline constexpr size_t kMostStoredBytes = size_t{1} << 20;

/// A message of the event stream as it is stored. The message may be no valid event.
struct StoredEvent {
  std::string ns;         ///< namespace in the subject; empty: the subject names none
  uint64_t sequence = 0;  ///< its place in the stream, from 1
  TimePoint stamped;      ///< when the broker stored it
  NatsMessage message;
};

/// Which messages the event stream has. Not each sequence between `first` and `last` has one.
struct StreamSpan {
  int64_t created = 0;  ///< which stream it is: nanoseconds, as Cursor::stream_created
  uint64_t first = 0;   ///< the oldest message; last + 1: the stream is empty
  uint64_t last = 0;    ///< the newest message that the stream ever had
  /// The stream has all messages that were stored at this time or later, except those that an
  /// operator removed. May be later than it would have to be.
  TimePoint complete_since = TimePoint::min();
};

/// Any thread, several at a time. Each call waits for the broker for some seconds at most. Errors:
/// `broker.unreachable`, `broker.timeout`, `broker.refused`, `broker.protocol`.
class StoredEvents {
 public:
  virtual ~StoredEvents() = default;

  struct Range {
    std::string ns;                  ///< only messages of this namespace
    uint64_t first = 0;              ///< only messages with this sequence or a higher one
    std::optional<TimePoint> since;  ///< only messages that were stored at this time or later
    uint64_t last = 0;               ///< only messages with this sequence or a lower one; 0: all
    size_t limit = 0;                ///< at most so many; 0 or too many: kMostStoredEvents
  };
  struct Page {
    std::vector<StoredEvent> events;  ///< ascending by sequence
    uint64_t next = 0;  ///< `first` of the read that continues this one; 0: the range has ended
  };

  virtual Result<StreamSpan> span() = 0;

  /// The message with that sequence, of any namespace. Error: `event.not_found`.
  virtual Result<StoredEvent> get(uint64_t sequence) = 0;

  /// The first messages of the range, at most kMostStoredEvents and about kMostStoredBytes. A page
  /// may have a `next` although it has fewer events than `limit`, or none.
  virtual Result<Page> read(const Range& range) = 0;
};

}  // namespace millrace
