// The broker's twin for tests and the simulation: an event stream and a publisher in memory, on one
// thread and without chance. Nothing moves but in pump(), and what goes wrong is what the test
// asked for; messages are decoded, checked and resumed from by the code that JetStream's side uses.
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

/// What becomes of one published message. Delays are counted in calls of pump(), so what is delayed
/// less overtakes what is delayed more.
struct PublishFate {
  bool arrives = true;           ///< false: lost on the way, `broker.timeout` in the end
  bool twice = false;            ///< arrives twice, the second time past the duplicate window
  bool acked = true;             ///< false: arrives, but `broker.timeout` in the end
  int delay = 0;                 ///< before it arrives
  int ack_delay = 0;             ///< between that and `done`
  std::optional<Error> refused;  ///< it does not arrive and `done` gets this
};

class MemoryBroker : public Publisher {
 public:
  /// A message in a stream: one under `millrace.events.` is in the event stream, any other is kept
  /// for assertions only.
  struct Stored {
    uint64_t sequence = 0;
    TimePoint stamped;
    NatsMessage message;
  };

  /// `clock` stamps messages and ends their deadlines; it outlives this.
  explicit MemoryBroker(const Clock& clock, Duration duplicate_window = std::chrono::minutes(2),
                        Duration ack_timeout = std::chrono::seconds(5));

  /// As JetStreamEvents; the deliveries come in pump().
  void start(const Cursor& cursor, DeliverySink& sink);
  void stop();

  // Publisher: nothing is stored and no `done` is called outside pump().
  void publish(NatsMessage message, Done done) override;

  /// Stores what was published and is due, calls each `done` that is due, and delivers up to
  /// `most` messages. Returns whether it did anything.
  bool pump(size_t most = std::numeric_limits<size_t>::max());

  /// When the next unacknowledged message runs out of time; nullopt: none waits.
  std::optional<TimePoint> next_deadline() const;

  /// Decides on each message as it is published; without one all goes well.
  void decide_fates(std::function<PublishFate(const NatsMessage&)> decide);

  /// A message by somebody else, stored at once.
  void inject(NatsMessage message);

  /// The connection goes: what is unanswered ends with `broker.unreachable`, whether it arrived or
  /// is still on its way, which it then never does.
  void disconnect();
  void reconnect();

  /// The stream forgets its newest messages, as after a power cut; what it takes next gets their
  /// sequences. Connections are lost with it: reconnect() follows.
  void lose_tail(size_t messages);

  /// The stream is made anew and empty. Connections are lost with it: reconnect() follows.
  void make_anew();

  /// The stream forgets its oldest messages, as by its limits.
  void drop_oldest(size_t messages);

  /// The consumer is lost and made again without a word: nothing is missed or repeated.
  void lose_consumer();

  /// What the event stream holds now, in its order.
  const std::deque<Stored>& events() const { return events_; }

  /// What was stored under other subjects (dead letters), in order of arrival.
  const std::vector<Stored>& others() const { return others_; }

  bool connected() const { return connected_; }

 private:
  enum class Phase { kOnTheWay, kArrived };

  struct InFlight {
    NatsMessage message;
    Done done;
    PublishFate fate;
    TimePoint deadline;
    Phase phase = Phase::kOnTheWay;
    int delay = 0;  ///< pumps left in this phase
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
  uint64_t last_sequence() const { return next_sequence_ - 1; }
  uint64_t first_sequence() const;

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
  bool tell_lost_ = false;
};

}  // namespace millrace
