// The event stream on JetStream: a pull consumer that is made anew at each start, reconnect and
// doubt, read on one thread of its own. The cursor is the truth, the consumer is thrown away
// (ARCHITECTURE "What a broker leaves").
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "broker/connection.h"
#include "broker/pull_window.h"
#include "broker/stream_keeper.h"
#include "broker/streams.h"
#include "orchestrator/ports/event_stream.h"

namespace millrace {

struct EventStreamSettings {
  StreamSettings stream = events_stream();
  /// Others that must be there before anything is read: what cannot be used goes to the dead
  /// letters, and what happens is told to those who ask.
  std::vector<StreamSettings> beside = {dead_letters_stream(), lifecycle_stream()};
  PullSettings pull;
  /// Hears what the broker has lost, on the thread that reads.
  std::function<void(const BrokerLoss&)> on_loss = [](const BrokerLoss&) {};
  size_t chunk = 256;  ///< messages at most in one call of the sink
};

/// Start, stop and destroy it on one thread; the sink is called on its own. Messages with sequences
/// that were seen before mean that the broker lost its tail: they are new messages, but for those
/// of the cursor's last millisecond, which dedupe drops.
class JetStreamEvents {
 public:
  /// `connection` outlives it.
  explicit JetStreamEvents(Connection& connection, EventStreamSettings settings = {});
  ~JetStreamEvents();

  /// Delivers every message behind `cursor`, in stream order, each once for as long as this runs,
  /// from a thread of its own; through reconnects, for ever, until stop(). A stream whose creation
  /// time is not the cursor's is read from its first message.
  void start(const Cursor& cursor, DeliverySink& sink);

  /// Returns when nothing more will be delivered. A sink that blocks must be closed first.
  void stop();

  struct Counts {
    uint64_t opened = 0;  ///< consumers made
    uint64_t gaps = 0;    ///< of them, those that ended because messages got lost on the way
    /// Messages that no consumer could deliver and that were read without one.
    uint64_t passed_over = 0;
  };
  Counts counts() const;

  /// Why it does not read at the moment; ok while it does. Changes are logged.
  Status health() const;

  /// A message found no stream: they are looked at, and made where they are missing. Any thread;
  /// never blocks.
  void doubt_streams() { keeper_.doubt(); }

 private:
  class Reader;

  Connection& connection_;
  const EventStreamSettings settings_;
  StreamKeeper keeper_;
  mutable std::mutex lock_;  // guards what follows
  std::unique_ptr<Reader> reader_;
};

}  // namespace millrace
