// OriginStreams: the port that reads streams which other programs fill. It changes nothing in these
// streams, and acknowledges nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

/// A stream as it is now.
struct OriginState {
  uint64_t created = 0;  ///< when the stream was created, in nanoseconds
  uint64_t first = 0;    ///< the oldest message; last + 1: the stream is empty
  uint64_t last = 0;     ///< the newest message that the stream ever had
  /// Whether messages stay in the stream when its consumers have acknowledged them.
  bool keeps_messages = true;
};

struct OriginMessage {
  uint64_t sequence = 0;
  TimePoint stamped;     ///< when the broker stored it
  uint64_t pending = 0;  ///< how many messages of the same reader follow, as far as is known
  NatsMessage message;
};

/// What a reader reads.
struct OriginWish {
  std::string stream;
  std::vector<std::string> subjects;  ///< filters; empty: all
  std::string consumer;  ///< the name of the consumer; one that has the name is deleted first
  uint64_t after = 0;    ///< only messages with a higher sequence
};

/// Reads one stream in its order. For one thread.
class OriginReader {
 public:
  virtual ~OriginReader() = default;
  /// The next messages, at most `most`; empty: none came within `at_most`. After an error the
  /// reader returns no more messages. Errors: `source.interrupted` (messages between the broker and
  /// this process were lost, or the consumer is gone), and those of OriginStreams.
  virtual Result<std::vector<OriginMessage>> read(size_t most, Duration at_most) = 0;
};

/// Any thread, several at a time. Each call waits for the broker for some seconds at most. Errors:
/// `source.no_stream`, `source.own_stream` (the stream is one of millrace itself),
/// `broker.unreachable`, `broker.timeout`, `broker.refused`, `broker.protocol`.
class OriginStreams {
 public:
  virtual ~OriginStreams() = default;

  virtual Result<OriginState> find(const std::string& stream) = 0;
  /// When the present message with that sequence was stored; nullopt: there is none.
  virtual Result<std::optional<TimePoint>> stamp_of(const std::string& stream,
                                                    uint64_t sequence) = 0;
  /// The sequence before the first message that was stored at that time or later.
  virtual Result<uint64_t> sequence_before(const std::string& stream, TimePoint time) = 0;
  /// Further error: `source.filters` (the NATS server knows one filter only).
  virtual Result<std::unique_ptr<OriginReader>> open(const OriginWish& wish) = 0;
};

}  // namespace millrace
