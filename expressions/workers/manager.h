// The inside of JqPool: a queue of jobs and the thread that has workers do them. A job is one
// request and its replies, whether it evaluates or checks; what they mean is the pool's business.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "expressions/workers/pool.h"
#include "expressions/workers/wire.h"
#include "expressions/workers/worker_process.h"

namespace millrace {

struct Job {
  enum class End {
    kAnswered,     ///< `replies` are complete
    kTimedOut,     ///< `replies` are those before the deadline
    kOutOfMemory,  ///< its worker ended for want of memory, twice
    kCrashed,      ///< its worker died of it, twice
    kUnavailable,  ///< no worker can be started (only if it does not wait for one)
  };

  std::string request;  ///< the whole message
  Duration timeout{};   ///< from when a worker gets it
  size_t max_replies = 1;
  bool waits_for_workers = true;
  std::function<void(End, std::vector<wire::Reply> replies, const std::string& problem)> done;
  int tries = 0;
};

class JqPool::Manager {
 public:
  /// Takes over `wake_fd`, an eventfd.
  Manager(Settings settings, int wake_fd);
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  void submit(Job job);
  Stats stats() const;

 private:
  using Clock = std::chrono::steady_clock;

  /// A place for one worker process; all of it is the manager thread's.
  struct Slot {
    std::optional<WorkerProcess> process;
    bool ready = false;
    wire::MessageReader reader;
    std::optional<Job> job;
    size_t sent = 0;  ///< bytes of the job's request
    std::vector<wire::Reply> replies;
    Clock::time_point deadline;  ///< of the job, or of the start
    Clock::time_point start_at;  ///< when there is no process: not earlier
    Clock::duration pause{};     ///< before the next start if this one fails
  };

  void run();
  void take_submitted();
  void start_workers();
  void assign();
  void wait();
  void kill_overdue();
  void send(Slot& slot);
  void receive(Slot& slot);
  void take_reply(Slot& slot, wire::Reply reply);
  void worker_ended(Slot& slot);
  void start_failed(Slot& slot, std::string problem);
  void finish(Slot& slot, Job::End end, const std::string& problem);
  void publish_stats();

  const Settings settings_;
  const int wake_fd_;

  // the manager thread's
  std::vector<Slot> slots_;
  std::deque<Job> queue_;
  int failed_starts_ = 0;  // in a row
  Stats own_stats_;

  mutable std::mutex mutex_;  // guards what follows
  std::deque<Job> submitted_;
  bool stopping_ = false;
  Stats stats_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace millrace
