// Intake: what other threads hand in to the processor, and the only part of it that they touch.
// Handing in never waits, but for deliver(): that is how pulling stops while too much is waiting.
// Any thread; what only the engine thread may call says so.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/input.h"
#include "orchestrator/outgoing/webhooks.h"
#include "orchestrator/ports/event_stream.h"
#include "orchestrator/ports/publisher.h"

namespace millrace {

struct IntakeLimits {
  size_t batch_events = 1024;        ///< at most, in one transaction
  size_t waiting_deliveries = 8192;  ///< before deliver() blocks
  size_t waiting_commands = 1024;    ///< before command() answers `busy`
};

/// Asked for when an instance has ended.
struct EndWaiter {
  using Done = std::function<void(Status)>;

  std::string space;
  InstanceId id;
  Duration deadline;  ///< as Clock::elapsed()
  Done done;
};

/// Answers with an error.
using Refuse = std::function<void(const Error&)>;

/// What became of a message of the outbox.
struct Settlement {
  uint64_t number = 0;
  Result<PublishAck> ack;
  uint64_t openings = 0;  ///< how often the stream had begun to be opened when it came
};

/// What was told of a task, and who is to know when that is stored.
struct TaskNews {
  TaskReport report;
  std::function<void()> stored;  ///< may be empty
};

/// Whether the event stream was opened, or lost. For the outbox, which must hear of it however many
/// events come first.
struct Link {
  std::optional<StreamOpened> opened;  ///< nothing: lost
  uint64_t openings = 0;               ///< how often it had begun to be opened, this time included
};

/// What one turn takes off the queues.
struct Work {
  std::vector<Delivery> deliveries;
  std::vector<CommandInput> commands;
  std::vector<EvaluatedInput> results;
  std::vector<TaskNews> tasks;
  std::vector<Settlement> settlements;
  std::vector<DeliveryOutcome> deliveries_made;
  std::vector<Link> links;
  std::vector<ContinueInput> continues;  ///< the processor's own
  std::vector<EndWaiter> waiters;

  bool empty() const;
  size_t size() const;  ///< of what is an input
};

/// Moves all of them behind what is there.
template <class T>
void move_all(std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}

/// Whether it takes things away, and so must work when there is no room.
bool makes_room(const Command& command);

class Intake {
 public:
  using Done = std::function<void(Result<Json>)>;

  explicit Intake(IntakeLimits limits) : limits_(limits) {}

  /// Blocks while too much is waiting. False: no more is taken.
  bool deliver(std::vector<Delivery> deliveries);
  /// `done` is called once: at once with why it is refused, by answer(), or after close().
  void command(Command command, Done done);
  void wait_for_end(EndWaiter waiter);
  void evaluated(EvaluatedInput input);
  void told(TaskNews news);
  void delivered(DeliveryOutcome outcome);
  /// The state of the stream is about to be asked for (DeliverySink::opening).
  void opening();
  void settled(uint64_t number, Result<PublishAck> ack);

  /// Why new work has to wait, if it has.
  Status takes_new_work() const;
  /// What the engine tries again and again, if it is at that.
  Status goes_on() const;
  /// Waits until nothing waits, and nothing is left to do; false: not within `at_most`.
  bool wait_until_quiet(Duration at_most);

  /// From now on deliver() takes no more.
  void refuse_deliveries();
  /// From now on nothing is taken, and sleep() returns false.
  void close();
  /// After close(): how each that still waits for an answer is refused.
  std::vector<Refuse> abandoned();

  // The engine thread's.

  /// New work has to wait, or not any more.
  void set_refusal(const std::optional<Error>& refusal);
  /// What it fails at, until the next call.
  void set_failure(const std::optional<Error>& failure);
  /// Takes all that waits; of events as many as still fit into `work`, none while new work waits.
  void gather(Work& work);
  bool has_deliveries() const;
  /// Tells the asker.
  void answer(uint64_t request, Result<Json> result);

  struct Sleep {
    std::optional<Duration> at_most;  ///< nothing: until something comes
    bool through = false;             ///< whatever comes
    bool at_rest = false;             ///< nothing is left to do by itself
  };
  /// Waits for something to do. False: it is closed.
  bool sleep(const Sleep& sleep);

 private:
  bool has_work() const;                                     ///< under the lock
  void note_links(const std::vector<Delivery>& deliveries);  ///< likewise

  const IntakeLimits limits_;

  mutable std::mutex lock_;  // guards what follows
  std::condition_variable work_came_;
  std::condition_variable room_came_;
  std::condition_variable quiet_came_;
  std::deque<Delivery> deliveries_;
  std::vector<CommandInput> commands_;
  std::vector<EvaluatedInput> results_;
  std::vector<TaskNews> tasks_;
  std::vector<Settlement> settlements_;
  std::vector<DeliveryOutcome> deliveries_made_;
  std::vector<Link> links_;
  uint64_t openings_ = 0;
  std::vector<EndWaiter> waiters_;
  std::map<uint64_t, Done> asked_;
  uint64_t last_request_ = 0;
  std::optional<Error> refusal_;
  std::optional<Error> failure_;
  bool closed_ = false;
  bool refuses_deliveries_ = false;
  bool working_ = false;  ///< a turn is under way
  bool at_rest_ = true;
};

}  // namespace millrace
