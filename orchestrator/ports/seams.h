// The seams to the shell: what the processor must be given to meet the world, and nothing more.
// broker/, expressions/workers and cli/ offer them on the real parts; broker/memory_broker is the
// twin of the broker's for tests and the simulation.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cloudevents/nats_binding.h"
#include "expressions/evaluation.h"
#include "model/input.h"
#include "model/task.h"

namespace millrace {

/// The time of workflows, and the time that waits and retries are counted in.
class Clock {
 public:
  virtual ~Clock() = default;

  /// The wall clock. Engine time is never less than the last committed one, whatever this says.
  virtual TimePoint now() const = 0;

  /// Time since some moment, which goes on evenly whatever is done to the wall clock.
  virtual Duration elapsed() const {
    return std::chrono::duration_cast<Duration>(
        std::chrono::steady_clock::now().time_since_epoch());
  }
};

/// What the broker no longer has of the event stream, though nobody told us.
struct BrokerLoss {
  enum class Kind {
    kDropped,  ///< messages were gone before they were read: by the stream's limits, or by hand
    kTail,     ///< the newest ones, which had been applied, are gone; what comes is in their places
    kStream,   ///< the stream was made anew; it is read from its first message
  };
  Kind kind{};
  /// The sequences that are concerned; of kStream the last one that was read, twice.
  uint64_t first = 0;
  uint64_t last = 0;

  bool operator==(const BrokerLoss&) const = default;
};

/// A connection to the event stream is made, or made again; what follows comes from it.
struct StreamOpened {
  Cursor position;              ///< what follows comes behind it; it may be before the last one
  uint64_t first_sequence = 0;  ///< the oldest message that the stream still has
  uint64_t last_sequence = 0;   ///< the newest
  /// What the stream took behind this sequence before, as far as is known, it no longer has.
  uint64_t intact_to = std::numeric_limits<uint64_t>::max();
};
/// Nothing more waits in the stream: it was empty behind the cursor when the broker was asked.
struct CaughtUp {};
/// The connection is gone; StreamOpened follows when it is back.
struct StreamLost {};

/// What comes out of the event stream, in its order.
using Delivery = std::variant<StreamOpened, CaughtUp, StreamLost, EventInput, UnreadableInput>;

class DeliverySink {
 public:
  virtual ~DeliverySink() = default;
  /// Blocks while too much is waiting: that is how pulling stops. False: closed, deliver no more.
  virtual bool deliver(std::vector<Delivery> deliveries) = 0;
  /// The state of the stream is about to be asked for, and StreamOpened follows if there is an
  /// answer: what the broker acknowledges from now on that answer need not have. Never blocks.
  virtual void opening() {}
};

class EventStream {
 public:
  virtual ~EventStream() = default;
  /// Delivers every message behind `cursor`, in stream order, each once for as long as this runs,
  /// from a thread of its own; through reconnects, for ever, until stop(). A stream whose creation
  /// time is not the cursor's is read from its first message.
  virtual void start(const Cursor& cursor, DeliverySink& sink) = 0;
  /// Returns when nothing more will be delivered.
  virtual void stop() = 0;
};

struct PublishAck {
  uint64_t sequence = 0;
  bool duplicate = false;  ///< the stream had a message of that Nats-Msg-Id in its window
};

/// The error of a message that the broker or its stream will never take, as large as it is.
inline constexpr std::string_view kTooLarge = "broker.too_large";

/// Puts messages into streams. Any thread; never blocks.
class Publisher {
 public:
  virtual ~Publisher() = default;
  using Done = std::function<void(Result<PublishAck>)>;
  /// `done` is called just once, on any thread, this call's included. Messages of one caller are
  /// sent in the order of the calls; one that failed may or may not have arrived, and sending it
  /// again under its Nats-Msg-Id is safe. Errors: `broker.unreachable`, `broker.timeout`,
  /// `broker.too_large`, `broker.refused` (with the broker's words).
  virtual void publish(NatsMessage message, Done done) = 0;
};

/// Runs expressions outside the process (expressions/workers). Any thread; never blocks.
using Evaluator =
    std::function<void(Evaluation evaluation, std::function<void(EvaluationResult)> done)>;

/// Why a CloudEvent was not taken by the URL that it was sent to.
struct DeliveryFailure {
  Error error;
  std::optional<Duration> retry_after;  ///< the receiver says: not before that
  bool is_final = false;                ///< it is of no use to try again
};

/// Sends CloudEvents to URLs. Any thread; never blocks.
class EventSender {
 public:
  virtual ~EventSender() = default;
  /// `done` is called just once, on any thread, this call's included; nullopt: it was taken.
  virtual void deliver(const Event& event, const std::string& url, const std::string& token,
                       std::function<void(std::optional<DeliveryFailure>)> done) = 0;
};

/// Where there are no webhooks: takes all.
class NoReceivers final : public EventSender {
 public:
  void deliver(const Event&, const std::string&, const std::string&,
               std::function<void(std::optional<DeliveryFailure>)> done) override {
    done(std::nullopt);
  }
};

/// Hears of tasks.
class TaskSink {
 public:
  virtual ~TaskSink() = default;
  /// Any thread; never blocks. `stored`, where there is one, is called once on any thread when what
  /// is told is on disk, or is of no use (late, double, nobody's): only then may its source forget
  /// it. It is not called where the process ends before.
  virtual void report(TaskReport report, std::function<void()> stored) = 0;
};

/// Does tasks of one kind of target. Any thread; never blocks.
class TaskRunner {
 public:
  virtual ~TaskRunner() = default;
  /// Has the task done, and tells the sink of it: TaskEnded at last, whatever happens, unless it is
  /// stopped or its deadline passes. One that was run before under its id may be under way.
  virtual void run(Task task) = 0;
  /// Nobody waits for it any more: what has not begun is taken back, what runs is asked to end, and
  /// nothing need be told of it. An unknown id is none of its own.
  virtual void stop(const InstanceId& task) = 0;
  /// Finds out whether a worker has begun with the task, which workers need not report. True:
  /// TaskStarted or TaskUnbegun is reported within two seconds, unless the task ends before. False:
  /// nothing is known beyond what was reported.
  virtual bool look(const InstanceId& task) {
    (void)task;
    return false;
  }
  /// How long the task has given no sign of life; nullopt: not known beyond what was reported. A
  /// runner that knows this need not report each sign of life.
  virtual std::optional<Duration> silence(const InstanceId& task) const {
    (void)task;
    return std::nullopt;
  }
};

}  // namespace millrace
