// Intake: the queue of inputs for the engine thread. Other threads put their inputs here, each kind
// into a lane of its own; the engine thread takes all lanes once in each turn. Putting an input
// never blocks, except for events: deliver() blocks while too many events wait, so that reading of
// the stream stops. Acknowledgements and changes of the stream have their own lanes, because
// applying them ends what makes events wait. Any thread; functions for the engine thread only are
// marked.
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
  size_t batch_events = 1024;        ///< maximum number of events in one batch
  size_t waiting_deliveries = 8192;  ///< deliver() blocks while so many deliveries wait
  size_t waiting_commands = 1024;    ///< command() answers `busy` while so many commands wait
  /// deliver() blocks while deliveries with so many bytes wait.
  size_t waiting_bytes = size_t{32} << 20;
  size_t waiting_questions = 16;  ///< ask() answers `busy` while so many questions wait
  /// A batch with events of so many bytes gets no further one.
  size_t batch_bytes = size_t{16} << 20;
};

/// Answers a waiting caller with an error.
using Refuse = std::function<void(const Error&)>;

/// The error of a caller whose answer millrace, which stops, cannot give.
Error stopping();

/// Whether the command removes or cancels something, and so must work when the store is full.
bool makes_room(const Command& command);

class Intake final : public DeliverySink, public TaskSink {
 public:
  using Done = std::function<void(Result<Json>)>;

  explicit Intake(IntakeLimits limits = {}) : limits_(limits) {}

  // Deliveries of the event stream (DeliverySink).

  /// Blocks while too many deliveries wait. Returns false if deliveries are no longer accepted.
  bool deliver(std::vector<Delivery> deliveries) override;
  void opening() override;

  // Inputs that never block.

  /// `done` is called once: at once with the reason if the command is refused; otherwise by
  /// answer(), or after close() with an error.
  void command(Command command, Done done);
  /// Calls `waiter.done` once: when the instance has ended or does not exist, or with error
  /// `wait.timeout` or `stopping`. It need not be called once the caller has left.
  void wait_for_end(EndWaiter waiter);
  /// Asks the engine thread, which answers one question between two batches. The question is
  /// refused with `busy` while too many others wait, and with `stopping`.
  void ask(IndexQuestion question);
  /// Asks whether the engine thread makes turns: its next turn calls `answered`, before it applies
  /// anything. A later call replaces a function that still waits. After close() it is never called.
  void ask_turn(std::function<void()> answered);
  /// How many questions the engine thread has answered.
  uint64_t answered_questions() const;
  /// Adds a report of a task (TaskSink).
  void report(TaskReport report, std::function<void()> stored) override;
  void put(EvaluatedInput input);
  void put(WebhookResult result);
  void put(ArchivedPage page);
  /// Adds the broker's answer to the publish of an outbox message.
  void acknowledge(uint64_t number, Result<PublishAck> ack);

  /// The reason why new work must wait, as an error: `busy`, `store.full`; ok: new work is
  /// accepted.
  Status takes_new_work() const;
  /// The operation that fails and is retried, as an error, see set_failure(); ok: no operation
  /// fails.
  Status goes_on() const;
  /// Blocks until all inputs are processed and nothing is left to do. Returns false if this takes
  /// longer than `at_most`.
  bool wait_until_quiet(Duration at_most);

  /// From now on deliver() accepts no more; deliveries that were accepted are processed. Used to
  /// stop reading the stream before the other parts of millrace stop.
  void refuse_deliveries();
  /// From now on no input is accepted, and sleep() returns false.
  void close();
  /// After close(): returns a function for each caller that still waits, which answers it with an
  /// error.
  std::vector<Refuse> abandoned();

  // Engine thread only.

  /// Sets the reason why new work must wait; nullopt: new work is accepted.
  void set_refusal(const std::optional<Error>& refusal);
  /// Sets how far the engine has applied the event stream. The effects of these events are on disk;
  /// the cursor on disk may be behind, because an event without effect makes no commit.
  void set_applied(const Cursor& cursor);
  /// What set_applied() has set last. Any thread.
  Cursor applied() const;
  /// Sets the operation that fails and is retried; nullopt: no operation fails.
  void set_failure(const std::optional<Error>& failure);
  /// Takes all waiting inputs. Of the events, gather() takes only as many as still fit into `work`,
  /// and none while new work must wait.
  void gather(Work& work);
  /// Answers the question that has waited longest, if one waits, and the one about turns.
  void answer_question(const EngineMemory& memory);
  bool has_deliveries() const;
  /// Whether gather() would take an event, a command, a result or a report.
  bool has_inputs() const;
  /// Answers a command.
  void answer(uint64_t request, Result<Json> result);

  struct Sleep {
    std::optional<Duration> at_most;  ///< nullopt: until an input comes
    bool through = false;             ///< sleep for `at_most` even if an input comes
    bool at_rest = false;             ///< nothing is left to do without an input
  };
  /// Waits for work. Returns false after close().
  bool sleep(const Sleep& sleep);

 private:
  bool is_full() const;                                        ///< the caller holds `lock_`
  bool has_work() const;                                       ///< the caller holds `lock_`
  bool has_steps() const;                                      ///< the caller holds `lock_`
  void note_changes(const std::vector<Delivery>& deliveries);  ///< the caller holds `lock_`

  const IntakeLimits limits_;

  mutable std::mutex lock_;  // guards all members below
  std::condition_variable work_came_;
  std::condition_variable room_came_;
  std::condition_variable quiet_came_;
  std::deque<Delivery> deliveries_;
  size_t bytes_ = 0;  ///< of deliveries_
  Work lanes_;        ///< all inputs except deliveries
  uint64_t openings_ = 0;
  std::deque<IndexQuestion> questions_;
  std::function<void()> turn_question_;  ///< empty: none waits
  uint64_t answered_questions_ = 0;
  std::map<uint64_t, Done> asked_;
  uint64_t last_request_ = 0;
  std::optional<Error> refusal_;
  Cursor applied_;
  std::optional<Error> failure_;
  bool closed_ = false;
  bool refuses_deliveries_ = false;
  bool working_ = false;  ///< a turn is being processed
  bool at_rest_ = true;
};

}  // namespace millrace
