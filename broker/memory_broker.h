// The broker for tests and the simulation: an event stream and a publisher in memory, on one thread
// and deterministic. Published messages are stored, and messages are delivered, in pump() only.
// Only the test causes failures. The code that decodes, checks and resumes is the same as for
// JetStream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cloudevents/nats_binding.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/event_stream.h"
#include "orchestrator/ports/publisher.h"

namespace millrace {

/// The fate of one published message. Delays are counted in calls of pump(), so a message with a
/// shorter delay overtakes one with a longer delay.
struct PublishFate {
  bool arrives = true;           ///< false: the message is lost, and `done` gets `broker.timeout`
  bool twice = false;            ///< stored twice, as if the duplicate window were over
  bool acked = true;             ///< false: the message is stored, but `done` gets `broker.timeout`
  int delay = 0;                 ///< calls of pump() before the message is stored
  int ack_delay = 0;             ///< calls of pump() from then until `done` is called
  std::optional<Error> refused;  ///< the message is not stored, and `done` gets this error
};

class MemoryBroker : public Publisher {
 public:
  /// A message in a stream. One under `millrace.events.` is in the event stream; any other is
  /// stored only for assertions.
  struct Stored {
    uint64_t sequence = 0;
    TimePoint stamped;
    NatsMessage message;
  };

  /// `clock` gives the times at which messages are stored and their deadlines pass. `clock` must
  /// outlive this object.
  explicit MemoryBroker(const Clock& clock, Duration duplicate_window = std::chrono::minutes(2),
                        Duration ack_timeout = std::chrono::seconds(5));

  /// As JetStreamEvents::start() and stop(), but deliveries happen in pump().
  void start(const Cursor& cursor, DeliverySink& sink);
  void stop();
  /// Stops the deliveries to `sink`, unless another sink has replaced it.
  void stop(const DeliverySink& sink);

  // Publisher: outside pump() nothing is stored and no `done` is called.
  void publish(NatsMessage message, Done done) override;

  /// Stores published messages that are due, calls each `done` that is due, and delivers up to
  /// `most` messages. Returns whether it did anything.
  bool pump(size_t most = std::numeric_limits<size_t>::max());

  /// The earliest deadline of an unacknowledged message; nullopt: no message waits.
  std::optional<TimePoint> next_deadline() const;

  /// `decide` sets the fate of each message when it is published; without `decide` no message
  /// fails.
  void decide_fates(std::function<PublishFate(const NatsMessage&)> decide);

  /// Stores a message of another client at once.
  void inject(NatsMessage message);

  /// Ends the connection. Each unanswered publish ends with `broker.unreachable`, whether its
  /// message was stored or not; a message that was not stored yet never will be.
  void disconnect();
  void reconnect();

  /// Makes the stream lose its newest messages, as after a power cut; the next messages get the
  /// sequences of the lost ones. Ends the connection as well: call reconnect() afterwards.
  void lose_tail(size_t messages);

  /// Replaces the stream by a new, empty one. Ends the connection as well: call reconnect()
  /// afterwards.
  void recreate_stream();

  /// Makes the stream drop its oldest messages, as it does at one of its limits.
  void drop_oldest(size_t messages);

  /// Makes the broker lose the consumer, which the next pump() creates again without a StreamLost:
  /// no message is missed or repeated.
  void lose_consumer();

  /// The present messages of the event stream, in order.
  const std::deque<Stored>& events() const { return events_; }

  /// The messages stored under other subjects (dead letters), in order of arrival.
  const std::vector<Stored>& others() const { return others_; }

  bool connected() const { return connected_; }
  int64_t created() const { return created_; }  ///< as Cursor::stream_created
  uint64_t first_sequence() const;              ///< the oldest message in the event stream
  uint64_t last_sequence() const { return next_sequence_ - 1; }

 private:
  enum class Phase { kOnTheWay, kArrived };

  struct InFlight {
    NatsMessage message;
    Done done;
    PublishFate fate;
    TimePoint deadline;
    Phase phase = Phase::kOnTheWay;
    int delay = 0;  ///< calls of pump() left in this phase
    PublishAck ack;
  };

  struct Seen {
    std::string id;
    TimePoint at;
    uint64_t sequence = 0;
  };

  PublishAck store(NatsMessage message, bool forget_id);
  bool move_publishes();
  bool deliver(size_t most);
  StreamOpened open();

  const Clock& clock_;
  const Duration duplicate_window_;
  const Duration ack_timeout_;

  int64_t created_;
  uint64_t next_sequence_ = 1;
  std::deque<Stored> events_;
  std::vector<Stored> others_;
  std::deque<Seen> seen_;

  bool connected_ = true;
  std::function<PublishFate(const NatsMessage&)> decide_;
  std::vector<InFlight> in_flight_;

  DeliverySink* sink_ = nullptr;
  Cursor position_;
  bool opened_ = false;
  bool caught_up_ = false;
  bool lost_is_pending_ = false;
};

}  // namespace millrace
