// The event stream on JetStream: a pull consumer that one thread reads. A new consumer is created
// at each start, at each reconnect and whenever the present one is not reliable. Only the cursor
// counts; a consumer has no state that is needed (docs/ARCHITECTURE.md describes broker failures).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "broker/connection.h"
#include "broker/pull_window.h"
#include "broker/stream_keeper.h"
#include "broker/streams.h"
#include "orchestrator/ports/event_stream.h"

namespace millrace {

/// A stream as it is when the event stream is being opened.
struct FoundStream {
  const StreamSettings& settings;
  StreamInfo info;
};

/// An attempt to open the event stream.
struct StreamOpening {
  std::vector<FoundStream> streams;  ///< the event stream, then EventStreamSettings::beside
  std::optional<BrokerLoss> loss;    ///< the loss of messages of the event stream that was found
  std::function<bool()> stops;       ///< whether the attempt is over: the connection was lost
};

/// Whether messages that the stream had are lost, other than by its limits.
bool has_lost_messages(const std::optional<BrokerLoss>& loss);

struct EventStreamSettings {
  StreamSettings stream = events_stream();
  /// Streams that must exist before events are read, because dead letters and lifecycle events are
  /// published to them.
  std::vector<StreamSettings> beside = {dead_letters_stream(), lifecycle_stream()};
  PullSettings pull;
  /// Called with each loss of messages in the broker, on the reader thread.
  std::function<void(const BrokerLoss&)> on_loss = [](const BrokerLoss&) {};
  /// Called in each attempt to open the event stream, on the reader thread. If it fails, the
  /// attempt has failed and is made again later, and health() has the error. Empty: nothing is
  /// called.
  std::function<Status(const StreamOpening&)> on_opening = nullptr;
  size_t chunk = 256;  ///< maximum number of messages in one call of the sink
};

/// Call start(), stop() and the destructor on one thread. The sink is called on the reader thread.
/// If a message has a sequence that was seen before, the broker lost the tail of the stream. Then
/// the message is new, unless the broker stored it in the millisecond of the cursor's time: a
/// message of that millisecond may come twice, and deduplication drops it.
class JetStreamEvents {
 public:
  /// `connection` must outlive this object.
  explicit JetStreamEvents(Connection& connection, EventStreamSettings settings = {});
  ~JetStreamEvents();

  /// Delivers every message after `cursor`, in stream order, from the reader thread, through
  /// reconnects, until stop(). Each message is delivered once during the lifetime of this object. A
  /// stream whose creation time differs from the cursor's is read from its first message.
  void start(const Cursor& cursor, DeliverySink& sink);

  /// Returns when there will be no more deliveries. If the sink can block, close the sink first.
  void stop();

  struct Counts {
    uint64_t opened = 0;  ///< consumers created
    uint64_t gaps = 0;    ///< consumers that ended because messages to this process were lost
    /// Messages that no consumer could deliver, and that were read without a consumer.
    uint64_t passed_over = 0;
  };
  Counts counts() const;

  /// Ok while events are read; otherwise the reason why they are not. Changes are logged.
  Status health() const;

  /// For when no stream accepted a message: all streams are checked, and missing ones are created.
  /// Any thread; never blocks.
  void doubt_streams() { keeper_.doubt(); }

 private:
  class Reader;

  Connection& connection_;
  const EventStreamSettings settings_;
  StreamKeeper keeper_;
  mutable std::mutex lock_;  // guards reader_
  std::unique_ptr<Reader> reader_;
};

}  // namespace millrace
