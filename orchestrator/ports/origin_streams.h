// OriginStreams: the port that reads streams which other programs fill. It changes nothing in these
// streams, and acknowledges only the messages of streams that it consumes: of work queues, and of
// streams with the retention `interest`. It also makes the streams of sources that name only
// subjects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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
  /// Whether the stream is a work queue: each message leaves it when one consumer has acknowledged
  /// it. Such a stream does not keep messages.
  bool is_work_queue = false;

  /// Whether a message stays only until all consumers that want it have acknowledged it, and is
  /// dropped at once if there are none (retention `interest`).
  bool needs_interest() const { return !keeps_messages && !is_work_queue; }
};

/// The stream that millrace makes for a source which names subjects without a stream. It stores
/// what is published on these subjects and acknowledges nothing: an acknowledgement would answer
/// the requests of other programs. When it is full, its oldest messages go.
struct SourceStream {
  std::string ns;      ///< the namespace of the source
  std::string source;  ///< the name of the source
  std::vector<std::string> subjects;
  uint64_t max_bytes = 0;
  Duration max_age{0};
};

struct OriginMessage {
  uint64_t sequence = 0;
  TimePoint stamped;  ///< when the broker stored it
  NatsMessage message;
  /// By what the reader acknowledges the message; empty: it needs no acknowledgement.
  std::string reply = {};
};

/// What a reader reads.
struct OriginWish {
  std::string stream;
  std::vector<std::string> subjects;  ///< filters; empty: all
  std::string consumer;  ///< the name of the consumer; one that has the name is deleted first
  uint64_t after = 0;    ///< only messages with a higher sequence; not used for work queues
  /// Whether the reader acknowledges its messages. It reads all messages that are not acknowledged,
  /// and has at most kMostUnacknowledged of them.
  bool consumes = false;
  /// With `consumes`, of a stream that needs_interest(): the consumer stays at the broker when its
  /// reader ends, until release_consumer(). A later reader of the same name gets a new one, and the
  /// stream holds the messages of one of both at any time.
  bool stays = false;
  /// How many messages the reader asks the broker for at once. More of them wait in this process if
  /// they come faster than they are read.
  size_t batch = 1'024;
};

/// How many messages of a consumed stream may be delivered and not acknowledged: more than may be
/// read, published and not applied.
inline constexpr size_t kMostUnacknowledged = 2'048;

/// Reads one stream in its order. For one thread.
class OriginReader {
 public:
  virtual ~OriginReader() = default;
  /// The next messages, at most `most`; empty: none came within `at_most`. After an error the
  /// reader returns no more messages. Errors: `source.interrupted` (messages between the broker and
  /// this process were lost, or the consumer is gone), `source.not_permitted` also for the
  /// acknowledgements of acknowledge(), and those of OriginStreams.
  virtual Result<std::vector<OriginMessage>> read(size_t most, Duration at_most) = 0;
  /// Acknowledges messages by their replies, without waiting for the broker. A message whose
  /// acknowledgement is lost is read again by a later reader.
  virtual void acknowledge(const std::vector<std::string>& replies) = 0;
  /// How many messages follow the one that read() returned last, as far as the broker has said;
  /// nullopt: it has said nothing yet.
  virtual std::optional<uint64_t> pending() = 0;
};

/// Any thread, several at a time. Each call waits for the broker for some seconds at most. Errors:
/// `source.no_stream`, `source.own_stream` (the stream is one of millrace itself),
/// `source.not_permitted` (millrace lacks a right that the message names), `broker.unreachable`,
/// `broker.timeout`, `broker.refused`, `broker.protocol`.
class OriginStreams {
 public:
  virtual ~OriginStreams() = default;

  virtual Result<OriginState> find(const std::string& stream) = 0;
  /// The present message with that sequence; nullopt: there is none. It needs no consumer.
  virtual Result<std::optional<OriginMessage>> message_at(const std::string& stream,
                                                          uint64_t sequence) = 0;
  /// The sequence before the first message that was stored at that time or later.
  virtual Result<uint64_t> sequence_before(const std::string& stream, TimePoint time) = 0;
  /// Further errors: `source.filters` (the NATS server knows one filter only),
  /// `source.other_consumer` (another consumer takes messages of the work queue).
  virtual Result<std::unique_ptr<OriginReader>> open(const OriginWish& wish) = 0;
  /// Deletes the consumer of that name which stayed at the broker; ok if there is none, also
  /// because the stream does not exist. No reader may have it.
  virtual Status release_consumer(const std::string& stream, const std::string& consumer) = 0;

  /// The name of the stream that millrace makes for that source; no other source has the same. Asks
  /// no broker.
  virtual std::string source_stream_name(std::string_view ns, std::string_view source) const = 0;
  /// The stream of that source. Further error: `source.stream_taken` (millrace did not make the
  /// stream of that name).
  virtual Result<OriginState> find_source_stream(std::string_view ns, std::string_view source) = 0;
  /// Makes the stream, or changes what it has of these settings. Further errors:
  /// `source.stream_taken`, `source.overlap` (names the streams that have such subjects already),
  /// `source.own_subjects` (a subject is millrace's), `settings.invalid` (the name is too long).
  virtual Result<OriginState> ensure_source_stream(const SourceStream& wanted) = 0;
  /// Deletes the stream of that source with its messages; a stream of that name that millrace did
  /// not make stays.
  virtual Status remove_source_stream(std::string_view ns, std::string_view source) = 0;
};

}  // namespace millrace
