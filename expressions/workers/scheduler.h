// The scheduler of JqPool: the thread that assigns jobs to jq workers. A job is one request and its
// replies, for an evaluation or a check. Only the pool interprets the contents of requests and
// replies.
//
// A job goes to a fast jq worker. The namespaces take turns, and in a namespace its lanes; the jobs
// of a lane keep their order. If the job computes longer than a slice, that jq worker is killed,
// and the job goes to the queue of its lane, which has one slow jq worker at a time. Replies that
// have arrived are stored: the next jq worker continues after them.
//
// A namespace gets another slow jq worker only while it has fewer than a third of those that are
// free, so it has at most about a quarter of all. However many of its lanes have evaluations that
// never end, some slow jq workers stay free for the other namespaces.
//
// Only one fast jq worker at a time has a large job, and the lanes with large jobs take turns: a
// few instances with much data would keep all fast jq workers busy, and the processors as well.
//
// Jobs of lanes whose last evaluations were quick are sent several at a time, because the round
// trip is most of their cost. If the jq worker has to be killed, or dies, it is unknown which job
// caused that: then no job is counted as the cause, and all of them are sent again, each alone.
#pragma once

#include <atomic>
#include <chrono>
#include <ctime>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "expressions/evaluation.h"
#include "expressions/workers/evaluation_loads.h"
#include "expressions/workers/launcher.h"
#include "expressions/workers/pool.h"
#include "expressions/workers/turn_queue.h"
#include "expressions/workers/wire.h"
#include "os/mailbox.h"

namespace millrace {

struct Job {
  enum class Kind {
    kEvaluation,
    /// Runs on fast jq workers only, with its own time limit; fails if no jq worker starts.
    kCheck,
  };
  enum class End {
    kAnswered,     ///< `replies` are complete
    kTimedOut,     ///< `replies` are those before the deadline
    kOutOfMemory,  ///< two jq workers ran out of memory on the job
    kCrashed,      ///< two jq workers crashed on the job
    kUnavailable,  ///< no jq worker can be started (checks only)
    kStopped,      ///< the evaluation's `stop` requested it; `replies` are those before
  };
  using OnStop = std::stop_callback<std::function<void()>>;

  Kind kind = Kind::kEvaluation;
  /// What to evaluate. It is encoded when a jq worker gets it, so a job that waits shares its input
  /// with the instance.
  Evaluation evaluation;
  std::string check;  ///< the complete message of a check
  uint64_t lane = 0;
  uint64_t space = 0;  ///< the namespace of the lane
  Duration timeout{};  ///< the job's limit on computing time (evaluations only)
  size_t max_replies = 1;
  size_t bytes = 0;  ///< about the size of the encoded evaluation
  std::function<void(End, std::vector<wire::Reply> replies, const std::string& problem)> done;
  std::unique_ptr<OnStop> on_stop;  ///< wakes the scheduler; null: the job cannot be stopped

  bool is_stopped() const { return evaluation.stop.stop_requested(); }

  // The progress of the job.
  uint64_t number = 0;  ///< in the order of submission
  std::vector<wire::Reply> replies;
  bool overran = false;  ///< the job exceeded its slice
  int timeouts = 0;
  int deaths = 0;
  EvaluationLoads::Counted counted;  ///< counts nothing for a check
};

/// The problem of a job that ends as kStopped.
inline constexpr const char* kStoppedJob = "its result is not needed any more";

class JqPool::Scheduler {
 public:
  /// Precondition: `submitted` has a valid descriptor.
  Scheduler(JqLauncher launcher, Settings settings, std::unique_ptr<PolledMailbox<Job>> submitted);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  void submit(Job job);
  Stats stats() const;

 private:
  using Clock = std::chrono::steady_clock;

  /// The stage of a jq worker's current job.
  enum class Stage { kNone, kStarted, kCompiling, kRunning };

  /// A slot for one jq worker process and its jobs, which it does one after the other. If the jq
  /// worker ends, the jobs stay in the slot, and the next jq worker starts them again.
  struct Slot {
    bool slow = false;

    uint32_t worker = 0;  ///< the number of the jq worker at the launcher; 0 if there is none
    clockid_t cpu{};      ///< the clock of the jq worker's processor time
    Descriptor socket;  ///< none before the jq worker has started, and after it has closed its end
    bool ready = false;
    wire::MessageReader reader;
    Clock::time_point idle_since;

    std::deque<Job> jobs;
    Stage stage = Stage::kNone;   ///< the stage of the first job in `jobs`
    std::string outgoing;         ///< requests to send
    size_t sent = 0;              ///< bytes of `outgoing` that have been sent
    Clock::duration allowance{};  ///< computing time that may be used from `computed` on
    Clock::duration computed{};   ///< computing time of the jq worker when the allowance was set
    /// When to check whether the allowance is used up; of a starting jq worker, its start deadline.
    Clock::time_point deadline;
    Clock::time_point latest;  ///< the wall-clock limit, even if the allowance is not used up
  };

  /// The slow jobs of one lane (a workflow).
  struct Lane {
    std::deque<Job> queue;  ///< ordered by the jobs' numbers
    uint64_t space = 0;
    bool running = false;
    Clock::time_point probation_end;  ///< until then the lane's evaluations go directly to `queue`
  };

  void run();
  bool take_submitted();
  bool is_slow(uint64_t lane);
  void enqueue_fast(Job job);
  void enqueue_slow(Job job);
  void fill_slots();
  Job next_job();
  bool takes_large() const;
  bool has_jobs() const { return !queue_.empty() || takes_large(); }
  bool may_share(const Job& job) const;
  bool may_use_slow_worker(uint64_t space) const;
  Slot* slot_for_slow_work();
  void end_stopped();
  std::vector<Job> take_stopped();

  void start_workers();
  void start_failed(std::string problem);
  void give_up_checks();
  void take_notices();
  void take_notice(JqLauncher::Notice notice);
  void launcher_ended(std::string problem);
  void worker_ended(Slot& slot, int status);
  void protocol_error(Slot& slot);
  void died_of_its_job(Slot& slot, Job::End end, std::string problem);
  void ask_each_alone(Slot& slot);
  void forget_worker(Slot& slot);
  void end_worker(Slot& slot);

  void begin(Slot& slot);
  static void append_request(const Job& job, std::string& outgoing);
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

  const std::string program_;  ///< the executable from which launchers are started
  const Settings settings_;
  /// Whether a job may have been stopped since end_stopped() looked for such jobs. Any thread.
  std::atomic<bool> has_stopped_ = false;
  EvaluationLoads loads_;  ///< any thread; before all members that have jobs
  const std::unique_ptr<PolledMailbox<Job>> submitted_;

  // used by the jq-pool thread only The launcher; nullopt: it has ended and has to be started
  // again.
  std::optional<JqLauncher> launcher_;
  uint32_t last_worker_ = 0;
  uint64_t last_job_ = 0;
  std::vector<Slot> slots_;  // the fast slots first
  TurnQueue<Job> queue_;     // jobs for the fast slots, except large ones
  std::deque<Job> large_;    // large jobs for the fast slots
  uint64_t large_lane_ = 0;  // the lane of the large job that a fast slot got last
  std::unordered_map<uint64_t, Lane> lanes_;
  TurnQueue<uint64_t> turns_;  // lanes that wait for a slot
  // By lane (workflow): how many of its evaluations in a row, up to the latest one, took at most
  // Settings::quick.
  std::unordered_map<uint64_t, int> quick_;
  int failed_starts_ = 0;  // the number of failed starts in a row
  Clock::time_point next_start_;
  Stats own_stats_;

  mutable std::mutex mutex_;  // guards stats_
  Stats stats_;               // without the jobs that wait in submitted_

  std::thread thread_;  // the last member, because it uses all of the above
};

}  // namespace millrace
