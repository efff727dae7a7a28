// WorkerLane: threads with a bounded queue of their own, for handlers that may take long and must
// not block the gateway's thread. A lane that is full or slow holds up no other lane. Any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gateway/lane_queue.h"

namespace millrace {

/// The bounds of a lane.
struct LaneLimits {
  size_t threads = 1;
  size_t waiting = 256;  ///< requests that wait for a thread
  /// How many requests of one client may run at a time.
  size_t running_per_client = std::numeric_limits<size_t>::max();
};

class WorkerLane {
 public:
  /// One of the functions is called once: `run` on a thread of the lane, `refuse` on the thread
  /// that adds work. Neither is called after stop().
  struct Work {
    std::function<void()> run;
    std::function<void()> refuse;  ///< there is no place in the queue
  };

  struct Counts {
    size_t waiting = 0;
    size_t running = 0;
    uint64_t refused = 0;  ///< since startup
  };

  /// `thread_name`: at most 15 bytes.
  WorkerLane(const char* thread_name, const LaneLimits& limits);
  ~WorkerLane() { stop(); }
  WorkerLane(const WorkerLane&) = delete;
  WorkerLane& operator=(const WorkerLane&) = delete;

  /// Runs the work when its turn comes. If the queue is full, this work or a work of another client
  /// that has more of them in the queue is refused (lane_queue.h).
  void add(const RequestSource& source, Work work);

  /// Runs work that continues a request which has run on this lane or another. It always gets a
  /// place; the caller bounds the number of such works. They and the queue take turns.
  void add_continuing(std::function<void()> work);

  Counts counts() const;

  /// Drops the waiting work; returns when the running work has ended. May be called again.
  void stop();

 private:
  struct Job {
    std::function<void()> work;
    std::optional<std::string> client;  ///< nullopt: the work is not from the queue
  };

  void run(const char* thread_name);
  std::optional<Job> next();

  const LaneLimits limits_;
  mutable std::mutex lock_;
  std::condition_variable changed_;
  LaneQueue<Work> queue_;  ///< guarded by lock_, as are the members below
  std::deque<std::function<void()>> continuing_;
  bool continues_ = false;  ///< whether the next work is one of continuing_
  size_t running_ = 0;
  uint64_t refused_ = 0;
  bool stops_ = false;
  std::vector<std::thread> threads_;  ///< not guarded
};

}  // namespace millrace
