// Intake: the one door of the engine's thread. Whatever other threads have for it is put in here,
// each kind into a lane of its own; the thread takes all lanes once a turn. Putting in never waits,
// but for events: that is how reading the stream stops while too much is waiting. Acknowledgements
// and changes of the stream have lanes apart, because they relieve what makes events wait.
// Any thread; what only the engine's thread may call says so.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "orchestrator/loop/work.h"
#include "orchestrator/ports/event_stream.h"
#include "orchestrator/ports/publisher.h"
#include "orchestrator/ports/task_runner.h"

namespace millrace {

struct IntakeLimits {
  size_t batch_events = 1024;        ///< at most, in one transaction
  size_t waiting_deliveries = 8192;  ///< before deliver() blocks
  size_t waiting_commands = 1024;    ///< before command() answers `busy`
};

/// Answers with an error.
using Refuse = std::function<void(const Error&)>;

/// Whether it takes things away, and so must work when there is no room.
bool makes_room(const Command& command);

class Intake final : public DeliverySink, public TaskSink {
 public:
  using Done = std::function<void(Result<Json>)>;

  explicit Intake(IntakeLimits limits = {}) : limits_(limits) {}

  // What comes of the event stream (DeliverySink).

  /// Blocks while too much is waiting. False: no more is taken.
  bool deliver(std::vector<Delivery> deliveries) override;
  void opening() override;

  // What never waits.

  /// `done` is called once: at once with why it is refused, by answer(), or after close().
  void command(Command command, Done done);
  /// The same: error `wait.timeout`, `stopping`, or that of a namespace or an instance that is
  /// not there.
  void wait_for_end(EndWaiter waiter);
  /// A report of a task (TaskSink).
  void report(TaskReport report, std::function<void()> stored) override;
  void put(EvaluatedInput input);
  void put(WebhookResult result);
  /// What the broker says of a message of the outbox.
  void acknowledge(uint64_t number, Result<PublishAck> ack);

  /// Why new work has to wait: `busy`, `store.full`.
  Status takes_new_work() const;
  /// What the engine tries again and again, as set_failure() has it.
  Status goes_on() const;
  /// Waits until nothing waits, and nothing is left to do; false: not within `at_most`.
  bool wait_until_quiet(Duration at_most);

  /// From now on deliver() takes no more; what was taken is worked off. For stopping the stream
  /// before the rest.
  void refuse_deliveries();
  /// From now on nothing is taken, and sleep() returns false.
  void close();
  /// After close(): how each that still waits for an answer is refused.
  std::vector<Refuse> abandoned();

  // The engine's thread only.

  /// New work has to wait; nullopt: it need not.
  void set_refusal(const std::optional<Error>& refusal);
  /// What it fails at, until the next call.
  void set_failure(const std::optional<Error>& failure);
  /// Takes all that waits; of events as many as still fit into `work`, none while new work waits.
  void gather(Work& work);
  bool has_deliveries() const;
  /// Answers a command.
  void answer(uint64_t request, Result<Json> result);

  struct Sleep {
    std::optional<Duration> at_most;  ///< none: until something comes
    bool through = false;             ///< whatever comes
    bool at_rest = false;             ///< nothing is left to do by itself
  };
  /// Waits for something to do. False: it is closed.
  bool sleep(const Sleep& sleep);

 private:
  bool has_work() const;                                       ///< under the lock
  void note_changes(const std::vector<Delivery>& deliveries);  ///< likewise

  const IntakeLimits limits_;

  mutable std::mutex lock_;  // guards what follows
  std::condition_variable work_came_;
  std::condition_variable room_came_;
  std::condition_variable quiet_came_;
  std::deque<Delivery> deliveries_;
  Work lanes_;  ///< all but the deliveries
  uint64_t openings_ = 0;
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
