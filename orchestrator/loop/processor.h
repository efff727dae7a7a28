// Processor: the engine thread, turn by turn. A turn takes the waiting inputs (intake.h), applies
// them as one batch (work_applier.h), commits it, performs its actions (after_commit.h), and sends
// what had to wait. Other threads reach the processor only through the intake.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "orchestrator/loop/after_commit.h"
#include "orchestrator/loop/continue_queue.h"
#include "orchestrator/loop/end_waiters.h"
#include "orchestrator/loop/engine_state.h"
#include "orchestrator/loop/intake.h"
#include "orchestrator/loop/look_back_queue.h"
#include "orchestrator/loop/metrics.h"
#include "orchestrator/loop/pressure.h"
#include "orchestrator/loop/recovery.h"
#include "orchestrator/loop/work_applier.h"
#include "orchestrator/ports/archiver.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/early_event_finder.h"
#include "orchestrator/ports/evaluator.h"
#include "orchestrator/ports/publisher.h"
#include "orchestrator/ports/task_runner.h"
#include "orchestrator/ports/webhook_sender.h"
#include "orchestrator/store/disk/environment.h"

namespace millrace {

struct ProcessorOptions {
  EngineOptions engine;
  Marks marks;
  /// Called on the engine thread when a commit fails with an error of CommitLog::append(). The
  /// engine has ended then: it changes, performs and sends nothing more, and the process must start
  /// again. Empty: the process ends.
  std::function<void(const Error&)> on_log_error;
  /// In a cluster: its latest actives have ended without an `end`, maybe because of an input. So
  /// the first inputs are applied one by one, and each is noted before (crash_note_row.h). If the
  /// store has such a note, that is done in any case.
  bool is_careful = false;
};

/// The objects that the processor needs; all outlive it.
struct ProcessorParts {
  EngineParts engine;
  Intake& intake;
  Evaluator evaluate;
  EarlyEventFinder find_early;
  Archiver archive;
  Metrics& metrics;
};

class Processor {
 public:
  Processor(ProcessorParts parts, ProcessorOptions options);
  ~Processor();
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  /// Reads the store into memory and creates the default namespace. Afterwards cursor() is the
  /// position at which reading of the event stream must continue.
  Status load();
  const Cursor& cursor() const { return engine_.batch.cursor(); }

  /// Runs turns on its own thread until stop(). An error after which the store cannot be trusted
  /// ends the process: the data on disk is correct, and a restart continues from there.
  void start();
  /// Finishes the current turn, answers waiting callers with `stopping`, and ends the thread.
  void stop();

  /// Runs one turn: all waiting inputs, as one batch. Returns whether there was any work. Called by
  /// the engine thread, and directly by tests and the simulation, which have no engine thread.
  bool turn();

  /// The time until turn() has work without an input: a due timer, a retry, or the end of the wait
  /// of a caller (EndWaiters).
  std::optional<Duration> next_wake() const;

  // Any thread.

  /// Whether load() is done; the error `starting` reports the progress.
  Status started() const;
  /// Whether the event stream is being read, new work is accepted, and no retried operation fails:
  /// neither the commit of a batch nor the read of something to be sent.
  Status ready() const;
  /// The damaged rows that were found so far.
  const Damages& damages() const { return engine_.damages; }

 private:
  Status load_state();
  Status learn_from_death();
  Status give_up(const NotedInput& poison);
  void run();
  void measure_pressure();
  void set_gauges();
  void report_turn(WorkTime began);
  void show_namespaces(const BatchCounts& counts);
  void show_retention(const BatchOutcome& outcome);
  bool is_due() const { return next_wake() == Duration(0); }

  // The steps of one turn, in this order.
  Work take_work();
  void note_work(Work& work);
  void keep_first(Work& work);
  Result<BatchOutcome> commit(Result<BatchOutcome> applied, Limit limit);
  void finish(const std::vector<StreamChange>& changes, BatchOutcome outcome);
  void send_backlog();

  /// Ends the engine. Commands of `work` are refused with `error`.
  void end(const Work& work, const Error& error);

  // Called after a batch that did not reach the disk.
  void lose_batch(Work work, const Error& error);
  void forget_batch(Work& work);
  void make_room(Work& work);

  void note_lost(const std::optional<Error>& error);
  void note_unsent(const Status& sent);

  ProcessorParts parts_;
  LookBackQueue look_backs_{parts_.find_early};
  Intake& intake_;
  EngineState engine_;
  const OnDamage note_damage_ = engine_.damages.noting();
  Pressure pressure_;
  WorkApplier applier_;
  EndWaiters end_waiters_;

  // Engine thread only.
  TimePoint time_;           ///< engine time of the last batch; never goes back
  WorkTime commit_began_{};  ///< of the last batch on disk, as Clock::precise()
  WorkTime commit_ended_{};
  EvaluationLoad evaluating_;  ///< evaluations under way, also stopped ones
  EvaluationsUnderWay evaluations_;
  uint64_t careful_ = 0;  ///< number of inputs that must still be applied one by one
  bool sends_ = false;    ///< the stream is open, so millrace knows which of its messages were lost
  bool fired_ = false;    ///< timers that were due at startup have fired
  bool relieved_ = false;  ///< backpressure has ended, and the waiting inputs are not taken yet
  Backlog backlog_;        ///< the work that the last batch on disk has left
  PassTimes passes_;       ///< of the retention, as the metrics have them
  std::vector<ContinueInput> unfinished_;  ///< instances that continue since the last turn
  ContinueQueue continuing_;  ///< those that continue, but not in this turn, if they are many
  bool has_queue_ = false;    ///< whether continuing_ has some
  Work left_;                 ///< work that earlier batches left, and inputs of a lost batch
  std::optional<Duration> retry_at_;  ///< as Clock::elapsed(); no batch is written before this time
  std::optional<Duration> resend_at_;  ///< as Clock::elapsed(); when failed reads are retried
  std::optional<Error> lost_;          ///< why the last batch is not on disk
  std::optional<Error> unsent_;        ///< why something to be sent could not be read
  const bool is_careful_start_;        ///< ProcessorOptions::is_careful
  const std::function<void(const Error&)> on_log_error_;
  bool has_ended_ = false;  ///< end() was called: no further turn does anything

  std::atomic<bool> loaded_ = false;
  StartProgress progress_;  ///< of load()
  std::thread thread_;
};

}  // namespace millrace
