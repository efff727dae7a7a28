// Processor: the engine's thread, turn by turn: take the inputs that wait (intake.h), apply them as
// one batch (work_applier.h), commit it, perform what it asked for (after_commit.h), send what
// waited for others. Other threads reach it through the intake only.
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
#include "orchestrator/loop/end_waiters.h"
#include "orchestrator/loop/engine_state.h"
#include "orchestrator/loop/intake.h"
#include "orchestrator/loop/metrics.h"
#include "orchestrator/loop/pressure.h"
#include "orchestrator/loop/work_applier.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/evaluator.h"
#include "orchestrator/ports/publisher.h"
#include "orchestrator/ports/task_runner.h"
#include "orchestrator/ports/webhook_sender.h"
#include "orchestrator/store/disk/environment.h"

namespace millrace {

struct ProcessorOptions {
  EngineOptions engine;
  Marks marks;
};

/// What it must be given; all outlive it.
struct ProcessorParts {
  EngineParts engine;
  Intake& intake;
  Evaluator evaluate;
  Metrics& metrics;
};

class Processor {
 public:
  Processor(ProcessorParts parts, ProcessorOptions options);
  ~Processor();
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  /// Reads the store into memory and makes the default namespace. Afterwards cursor() is where the
  /// event stream is to go on.
  Status load();
  const Cursor& cursor() const { return engine_.batch.cursor(); }

  /// Runs turns on a thread of its own until stop(). A store that can no longer be trusted ends the
  /// process: what is on disk is right, and a restart goes on from there.
  void start();
  /// Finishes the turn in hand, answers what still waits with `stopping`, ends the thread.
  void stop();

  /// One turn: everything that waits now, as one batch. Returns whether there was anything. For
  /// the thread, and for tests and the simulation, which have none.
  bool turn();

  /// How long until turn() has something to do by itself: a timer, a retry, the end of a wait.
  std::optional<Duration> next_wake() const;

  // Any thread.

  /// Whether load() is done; error `starting` says how far it is.
  Status started() const;
  /// Whether the event stream is being read, nothing keeps new work waiting, and nothing fails that
  /// is tried again: batches that do not reach the disk, reads of what is to be sent.
  Status ready() const;
  /// What of the store is damaged, as far as it was met.
  const Damages& damages() const { return engine_.damages; }

 private:
  Status load_state();
  Status learn_from_death();
  void run();
  void measure_pressure();
  void set_gauges();
  bool is_due() const { return next_wake() == Duration(0); }

  // One turn, in this order.
  Work take_work();
  void note_work(Work& work);
  void keep_first(Work& work);
  Result<BatchOutcome> commit(Result<BatchOutcome> applied, Limit limit);
  void finish(const std::vector<StreamChange>& changes, BatchOutcome outcome);
  void send_backlog();

  // A batch that did not reach the disk.
  void lose_batch(Work work, const Error& error);
  void forget_batch(Work& work);
  void make_room(Work& work);

  void note_lost(const std::optional<Error>& error);
  void note_unsent(const Status& sent);

  ProcessorParts parts_;
  Intake& intake_;
  EngineState engine_;
  const OnDamage note_damage_ = engine_.damages.noting();
  Pressure pressure_;
  WorkApplier applier_;
  EndWaiters end_waiters_;

  // Engine thread only.
  TimePoint time_;         ///< of the last batch; never goes back
  size_t evaluating_ = 0;  ///< evaluations under way
  uint64_t careful_ = 0;   ///< so many inputs are yet to be applied one by one
  bool sends_ = false;     ///< the stream is open: what it may have lost of ours is known
  bool fired_ = false;     ///< timers that were due at the start have been fired
  bool relieved_ = false;  ///< new work is taken again, and a turn has yet to take what waited
  Backlog backlog_;        ///< as the last batch on disk left it
  std::vector<ContinueInput> unfinished_;
  Work left_;                          ///< that an earlier batch had no room for, or was lost with
  std::optional<Duration> retry_at_;   ///< as Clock::elapsed(); nothing is written before
  std::optional<Duration> resend_at_;  ///< likewise: what could not be read to be sent is
  std::optional<Error> lost_;          ///< why the last batch is not on disk
  std::optional<Error> unsent_;        ///< why something could not be read to be sent

  std::atomic<bool> loaded_ = false;
  std::atomic<uint64_t> read_ = 0;  ///< living instances, by load()
  std::thread thread_;
};

}  // namespace millrace
