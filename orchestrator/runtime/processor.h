// Processor: the loop in which everything happens: gather inputs → apply them as one batch → commit
// → act. It owns the transaction, the caches and the engine's time; one thread runs it, all others
// hand things in through its queues (deliver, command, wait_for_end) and never touch its insides.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "model/input.h"
#include "orchestrator/runtime/batch.h"
#include "orchestrator/runtime/catalog.h"
#include "orchestrator/runtime/dedupe.h"
#include "orchestrator/runtime/metrics.h"
#include "orchestrator/runtime/outbox.h"
#include "orchestrator/runtime/pressure.h"
#include "orchestrator/runtime/queries.h"
#include "orchestrator/runtime/recent.h"
#include "orchestrator/runtime/seams.h"
#include "orchestrator/runtime/waiting.h"
#include "orchestrator/store/environment.h"
#include "orchestrator/store/in_hand.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

struct ProcessorOptions {
  size_t batch_events = 1024;        ///< at most, in one transaction
  size_t waiting_deliveries = 8192;  ///< before deliver() blocks
  size_t waiting_commands = 1024;    ///< before command() answers `busy`
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
  Evaluator evaluate;
  Catalog::Loader loader;
  IdMaker make_id;
  Queries& queries;
  Metrics& metrics;
};

class Processor final : public DeliverySink {
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
  void refuse_deliveries();
  /// Finishes the turn in hand, answers what still waits with `stopping`, ends the thread.
  void stop();

  /// One turn: everything that waits now, as one batch. Returns whether there was anything. For
  /// the thread, and for tests and the simulation, which have none.
  bool turn();

  // Any thread.

  bool deliver(std::vector<Delivery> deliveries) override;
  void command(Command command, Done done);
  void wait_for_end(std::string space, InstanceId id, Duration at_most, Done done);

  /// Waits until all that was handed in is worked off and sent; false: not within `at_most`.
  bool wait_until_quiet(Duration at_most);

  /// Whether the event stream is being read, and nothing keeps new work waiting.
  Status ready() const;
  /// Why new work has to wait, if it has: `busy`, `store.full`.
  Status takes_new_work() const;
  /// How long until turn() has something to do by itself: a timer, a retry, the end of a wait.
  std::optional<Duration> next_wake() const;

 private:
  struct EndWaiter {
    std::string space;
    InstanceId id;
    Duration deadline;  ///< as Clock::elapsed()
    Done done;
  };
  struct Settlement {
    uint64_t number = 0;
    Result<PublishAck> ack;
  };
  /// Whether the event stream was opened, or lost. For the outbox, which must hear of it however
  /// many events come first.
  using Link = std::optional<StreamOpened>;
  /// What one turn takes off the queues.
  struct Work {
    std::vector<Delivery> deliveries;
    std::vector<CommandInput> commands;
    std::vector<EvaluatedInput> results;
    std::vector<Settlement> settlements;
    std::vector<Link> links;
    std::vector<ContinueInput> continues;
    std::vector<EndWaiter> waiters;

    bool empty() const;
    size_t size() const;  ///< of what is an input
  };

  Status load_caches();
  Status learn_from_death();
  void keep_first(Work& work);
  void run();
  void measure_pressure();
  void gather(Work& work);
  bool has_work() const;                                     ///< under the lock
  void note_links(const std::vector<Delivery>& deliveries);  ///< likewise
  Status apply(Work& work, TimePoint now);
  Status apply(const Delivery& delivery, TimePoint now);
  Status apply(const std::vector<CommandInput>& commands, TimePoint now);
  Status hear(const Work& work, TimePoint now, Outbox::Then then);
  Result<BatchOutcome> commit(Status applied, TimePoint now, Limit limit);
  Status set_aside(const EventInput& poison, TimePoint now);
  bool is_behind() const;
  Status fire_until(TimePoint time, TimePoint now, bool hold);
  void lose_batch(Work work, const Error& error);
  void forget_batch();
  void make_room(Work& work);
  void act(const std::vector<Link>& links, BatchOutcome outcome);
  void answer(uint64_t request, Result<Json> result);
  void tell_ended(NamespaceNumber space, const InstanceId& id);
  void expire_waiters();
  void take_waiters(std::vector<EndWaiter> waiters);

  ProcessorParts parts_;
  ProcessorOptions options_;

  // Engine thread only.
  Transaction tx_;
  Catalog catalog_;
  Waiting waiting_;
  Dedupe dedupe_;
  Recent recent_;
  InHand in_hand_;
  Outbox outbox_;
  Pressure pressure_;
  Batch batch_;
  TimePoint time_;                ///< of the last batch; never goes back
  size_t evaluating_ = 0;         ///< evaluations under way
  uint64_t careful_ = 0;          ///< so many inputs are yet to be applied one by one
  bool sends_ = false;            ///< the stream is open: what it may have lost of ours is known
  uint64_t poison_ = 0;           ///< sequence of an event that the process has died of; 0: none
  bool caught_up_ = false;        ///< nothing in the stream may still come before now
  std::vector<TimerInput> held_;  ///< due timers that an event still in the stream may overtake
  std::vector<TimerInput> due_;
  std::vector<ContinueInput> unfinished_;
  Work left_;                         ///< that an earlier batch had no room for, or was lost with
  std::optional<Duration> retry_at_;  ///< as Clock::elapsed(); nothing is written before
  std::multimap<InstanceId, EndWaiter> end_waiters_;

  // Under the lock.
  mutable std::mutex lock_;
  std::condition_variable work_came_;
  std::condition_variable room_came_;
  std::deque<Delivery> deliveries_;
  std::vector<CommandInput> commands_;
  std::vector<EvaluatedInput> results_;
  std::vector<Settlement> settlements_;
  std::vector<Link> links_;
  std::vector<EndWaiter> new_waiters_;
  std::map<uint64_t, Done> asked_;
  uint64_t last_request_ = 0;
  bool closed_ = false;
  std::optional<Error> refusal_;  ///< why new work has to wait at present
  bool refuses_deliveries_ = false;
  bool working_ = false;  ///< a turn is under way
  bool at_rest_ = true;   ///< all is sent, and nothing is left to do by itself
  std::condition_variable quiet_came_;

  std::atomic<bool> connected_ = false;
  std::thread thread_;
};

}  // namespace millrace
