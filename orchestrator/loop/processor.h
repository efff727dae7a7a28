// Processor: the loop in which everything happens: gather inputs → apply them as one batch → commit
// → act. It owns the transaction, the caches and the engine's time; one thread runs it, all others
// hand things in through its queues (deliver, command, wait_for_end) and never touch its insides.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "model/input.h"
#include "orchestrator/batch/batch.h"
#include "orchestrator/batch/crash_note.h"
#include "orchestrator/loop/end_waiters.h"
#include "orchestrator/loop/intake.h"
#include "orchestrator/loop/metrics.h"
#include "orchestrator/loop/pressure.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/memory/dedupe.h"
#include "orchestrator/memory/kept_events.h"
#include "orchestrator/memory/live_counts.h"
#include "orchestrator/memory/wait_index.h"
#include "orchestrator/outgoing/outbox.h"
#include "orchestrator/outgoing/task_dispatch.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/evaluator.h"
#include "orchestrator/ports/event_stream.h"
#include "orchestrator/ports/publisher.h"
#include "orchestrator/ports/task_runner.h"
#include "orchestrator/ports/webhook_sender.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

struct ProcessorOptions {
  IntakeLimits intake;
  DedupeWindow dedupe;
  BatchLimits batch;
  Marks marks;
  KeptLimits kept;
  EngineLimits engine;
};

/// What it must be given; all outlive it.
struct ProcessorParts {
  Environment& environment;
  const Clock& clock;
  Publisher& publisher;
  TaskRunner& functions;
  EventSender& webhooks;
  Evaluator evaluate;
  DefinitionCache& definitions;
  IdMaker make_id;
  std::string id_key = {};  ///< Lookup::id_key
  BegunTasks& begun_tasks;  ///< kept in step, for queries
  Metrics& metrics;
};

class Processor final : public DeliverySink, public TaskSink {
 public:
  using Done = std::function<void(Result<Json>)>;

  Processor(ProcessorParts parts, ProcessorOptions options);
  ~Processor() override;

  /// Reads the caches from the store and makes the default namespace. Afterwards cursor() is where
  /// the event stream is to go on.
  Status load();
  const Cursor& cursor() const { return batch_.cursor(); }

  /// Runs turns on a thread of its own until stop(). A store that can no longer be trusted ends the
  /// process: what is on disk is right, and a restart goes on from there.
  void start();
  /// From now on deliver() takes no more; what was taken is worked off. For stopping the stream
  /// before the rest.
  void refuse_deliveries() { intake_.refuse_deliveries(); }
  /// Finishes the turn in hand, answers what still waits with `stopping`, ends the thread.
  void stop();

  /// One turn: everything that waits now, as one batch. Returns whether there was anything. For
  /// the thread, and for tests and the simulation, which have none.
  bool turn();

  // Any thread.

  bool deliver(std::vector<Delivery> deliveries) override {
    return intake_.deliver(std::move(deliveries));
  }
  void opening() override { intake_.opening(); }
  void command(Command command, Done done) { intake_.command(std::move(command), std::move(done)); }
  void report(TaskReport report, std::function<void()> stored) override {
    intake_.told({std::move(report), std::move(stored)});
  }
  /// `done` gets an error where there is no such namespace, or `wait.timeout` after `at_most`.
  void wait_for_end(std::string space, InstanceId id, Duration at_most, EndWaiter::Done done);

  /// Waits until all that was handed in is worked off and sent; false: not within `at_most`.
  bool wait_until_quiet(Duration at_most) { return intake_.wait_until_quiet(at_most); }

  /// Whether load() is done; error `starting` says how far it is.
  Status started() const;
  /// Whether the event stream is being read, nothing keeps new work waiting, and nothing fails that
  /// is tried again: batches that do not reach the disk, reads behind a commit.
  Status ready() const;
  /// Why new work has to wait, if it has: `busy`, `store.full`.
  Status takes_new_work() const { return intake_.takes_new_work(); }
  /// What of the store is damaged, as far as it was met. Any thread.
  const Damages& damages() const { return damages_; }
  /// How long until turn() has something to do by itself: a timer, a retry, the end of a wait.
  std::optional<Duration> next_wake() const;

 private:
  Status load_caches();
  Status load_workflow(const WorkflowEntry& entry);
  Status check_time() const;
  Status learn_from_death();
  void keep_first(Work& work);
  void run();
  void measure_pressure();
  Status apply(Work& work, TimePoint now);
  Status apply(const Delivery& delivery, TimePoint now);
  Status apply(const std::vector<CommandInput>& commands, TimePoint now);
  Status hear(const Work& work, TimePoint now, Outbox::Then then);
  Status hear_of_webhooks(const Work& work, TimePoint now);
  Result<BatchOutcome> commit(Status applied, TimePoint now, Limit limit);
  Status set_aside(const EventInput& poison, TimePoint now);
  bool is_behind() const;
  Status fire_until(TimePoint time, TimePoint now, bool hold);
  void lose_batch(Work work, const Error& error);
  void forget_batch(Work& work);
  void batch_committed();
  Status undo_batch();
  Status restore_workflow(WorkflowNumber number);
  Status restore_instance(NamespaceNumber space, const InstanceId& id);
  void make_room(Work& work);
  Status act(const std::vector<Link>& links, BatchOutcome outcome);
  Status hand_out(const BatchOutcome& outcome);
  void note_undone(const Status& done);
  void note_lost(const std::optional<Error>& error);

  ProcessorParts parts_;
  ProcessorOptions options_;

  // Engine thread only.
  Damages damages_;  // any thread's
  Transaction tx_;
  Catalog catalog_;
  Waiting waiting_;
  Living living_;
  Dedupe dedupe_;
  Recent recent_{damages_};
  Tasks tasks_;
  Hooks hooks_;
  InHand in_hand_;
  Outbox outbox_;
  Pressure pressure_;
  Batch batch_;
  TimePoint time_;                 ///< of the last batch; never goes back
  size_t evaluating_ = 0;          ///< evaluations under way
  uint64_t careful_ = 0;           ///< so many inputs are yet to be applied one by one
  bool sends_ = false;             ///< the stream is open: what it may have lost of ours is known
  uint64_t poison_ = 0;            ///< sequence of an event that the process has died of; 0: none
  bool caught_up_ = false;         ///< nothing in the stream may still come before now
  std::vector<TimerInput> held_;   ///< due timers that an event still in the stream may overtake
  std::vector<TimerInput> ticks_;  ///< of schedules: that wait while new work has to
  std::vector<TimerInput> due_;
  // What the batch in hand has done to them.
  std::vector<TimerInput> released_;  ///< from the front of held_
  size_t newly_held_ = 0;             ///< at the end of held_
  std::vector<TimerInput> ticks_before_;
  std::vector<ContinueInput> unfinished_;
  Work left_;                         ///< that an earlier batch had no room for, or was lost with
  std::optional<Duration> retry_at_;  ///< as Clock::elapsed(); nothing is written before
  std::optional<Duration> redo_at_;   ///< likewise: what could not be done behind a commit is
  std::optional<Error> lost_;         ///< why the last batch is not on disk
  std::optional<Error> undone_;       ///< what could not be done behind the last one
  EndWaiters end_waiters_;

  Intake intake_;  // any thread's
  std::atomic<bool> loaded_ = false;
  std::atomic<uint64_t> read_ = 0;  ///< living instances, by load()
  std::atomic<bool> connected_ = false;
  std::thread thread_;
};

}  // namespace millrace
