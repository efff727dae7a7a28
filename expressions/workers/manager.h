// The inside of JqPool: the thread that has workers do jobs. A job is one request and its replies,
// whether it evaluates or checks; what they mean is the pool's business.
//
// A job goes to a fast worker, in the order of submission. If it computes longer than a slice, that
// worker is killed and the job goes to the queue of its lane, which has one slow worker at a time.
// Replies that came are kept: the next worker goes on behind them.
//
// Jobs of lanes that have been quick of late are sent several at once, which is what a round trip
// mostly costs. When their worker has to be killed, or dies, nobody knows of which one: nobody is
// blamed, and all of them are asked again, each alone.
#pragma once

#include <chrono>
#include <ctime>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "expressions/workers/launcher.h"
#include "expressions/workers/pool.h"
#include "expressions/workers/wire.h"
#include "os/mailbox.h"

namespace millrace {

struct Job {
  enum class Kind {
    kEvaluation,
    kCheck,  ///< never slow: it has its time on a fast worker; does not wait where none starts
  };
  enum class End {
    kAnswered,     ///< `replies` are complete
    kTimedOut,     ///< `replies` are those before the deadline
    kOutOfMemory,  ///< its worker ended for want of memory, twice
    kCrashed,      ///< its worker died of it, twice
    kUnavailable,  ///< no worker can be started (checks only)
  };

  Kind kind = Kind::kEvaluation;
  std::string request;  ///< the whole message
  uint64_t lane = 0;
  Duration timeout{};  ///< of computing (evaluations only)
  size_t max_replies = 1;
  std::function<void(End, std::vector<wire::Reply> replies, const std::string& problem)> done;

  // What has become of it.
  uint64_t number = 0;  ///< in the order of submission
  std::vector<wire::Reply> replies;
  bool overran = false;  ///< the slice
  int timeouts = 0;
  int deaths = 0;
};

class JqPool::Manager {
 public:
  /// `submitted` has a descriptor.
  Manager(JqLauncher launcher, Settings settings, std::unique_ptr<PolledMailbox<Job>> submitted);
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  void submit(Job job);
  Stats stats() const;

 private:
  using Clock = std::chrono::steady_clock;

  /// How far a worker is with a job.
  enum class Stage { kNone, kBegun, kCompiling, kRunning };

  /// A place for one worker process and the jobs that it does, one after the other. They stay when
  /// the worker ends, and are begun anew by the next.
  struct Slot {
    bool slow = false;

    uint32_t worker = 0;  ///< the launcher's number for it; 0: there is none
    clockid_t cpu{};      ///< tells the time that it has computed
    Descriptor socket;    ///< none before it has started, and once it has closed it
    bool ready = false;
    wire::MessageReader reader;
    Clock::time_point idle_since;

    std::deque<Job> jobs;
    Stage stage = Stage::kNone;   ///< of the first one
    std::string outgoing;         ///< requests that have not been sent
    size_t sent = 0;              ///< bytes of them
    Clock::duration allowance{};  ///< of computing, since the worker had computed `computed`
    Clock::duration computed{};
    Clock::time_point deadline;  ///< when to look whether it is used up; or of the start
    Clock::time_point latest;    ///< the worker has not got its time by then: enough
  };

  /// The slow work of one workflow.
  struct Lane {
    std::deque<Job> queue;  ///< by number
    bool running = false;
    Clock::time_point probation_end;  ///< until then its evaluations come here at once
  };

  void run();
  bool take_submitted();
  bool is_slow(uint64_t lane);
  void enqueue_slow(Job job);
  void fill_slots();
  bool may_share(const Job& job) const;
  Slot* slot_for_slow_work();

  void start_workers();
  void start_failed(std::string problem);
  void give_up_checks();
  void take_notices();
  void take_notice(JqLauncher::Notice notice);
  void launcher_ended(std::string problem);
  void worker_ended(Slot& slot, int status);
  void talks_nonsense(Slot& slot);
  void died_of_its_job(Slot& slot, Job::End end, std::string problem);
  void ask_each_alone(Slot& slot);
  void forget_worker(Slot& slot);
  void end_worker(Slot& slot);

  void begin(Slot& slot);
  Clock::duration time_to_run(const Slot& slot) const;
  void allow(Slot& slot, Clock::duration allowance);
  static bool is_timed(const Slot& slot);
  void wait();
  void send(Slot& slot);
  void receive(Slot& slot);
  bool take_reply(Slot& slot, wire::Reply reply);
  void end_overdue();
  void overran(Slot& slot);
  void finish(Slot& slot, Job::End end, const std::string& problem);
  void note_speed(const Job& job, Job::End end);
  void publish_stats();

  const std::string program_;  ///< what launchers are started from
  const Settings settings_;
  const std::unique_ptr<PolledMailbox<Job>> submitted_;

  // the manager thread's
  std::optional<JqLauncher> launcher_;  // none: it ended, and is to be started again
  uint32_t last_worker_ = 0;
  uint64_t last_job_ = 0;
  std::vector<Slot> slots_;  // the fast ones first
  std::deque<Job> queue_;    // for the fast ones
  std::unordered_map<uint64_t, Lane> lanes_;
  std::deque<uint64_t> turns_;               // lanes that wait for a slot
  std::unordered_map<uint64_t, int> quick_;  // how many evaluations of a lane were, in a row
  int failed_starts_ = 0;                    // in a row
  Clock::time_point next_start_;
  Stats own_stats_;

  mutable std::mutex mutex_;  // guards what follows
  Stats stats_;               // but for those that wait in submitted_

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace millrace
