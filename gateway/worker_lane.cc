#include "gateway/worker_lane.h"

#include <optional>
#include <utility>

#include "os/thread.h"

namespace millrace {

WorkerLane::WorkerLane(const char* thread_name, const LaneLimits& limits)
    : limits_(limits), queue_(limits.running_per_client) {
  for (size_t i = 0; i < limits_.threads; ++i) {
    threads_.emplace_back([this, thread_name] { run(thread_name); });
  }
}

void WorkerLane::add(const RequestSource& source, Work work) {
  std::optional<Work> refused;
  {
    const std::lock_guard guard(lock_);
    if (stops_) return;
    // A thread that is free takes its work from the queue too.
    const size_t free = limits_.threads - running_;
    refused = queue_.push(source, std::move(work), limits_.waiting + free);
    if (refused) ++refused_;
  }
  changed_.notify_one();
  if (refused) refused->refuse();
}

WorkerLane::Counts WorkerLane::counts() const {
  const std::lock_guard guard(lock_);
  return {.waiting = queue_.size(), .running = running_, .refused = refused_};
}

void WorkerLane::stop() {
  {
    const std::lock_guard guard(lock_);
    stops_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void WorkerLane::run(const char* thread_name) {
  name_thread(thread_name);
  std::unique_lock lock(lock_);
  while (true) {
    auto taken = stops_ ? std::nullopt : queue_.pop();
    if (!taken) {
      if (stops_) return;
      changed_.wait(lock);
      continue;
    }
    ++running_;
    lock.unlock();
    taken->work.run();
    const std::string client = std::move(taken->client);
    taken.reset();  // destroys the work outside the lock
    lock.lock();
    --running_;
    queue_.ended(client);
    // Another work of this client may run now, and this thread may not be the one that waits.
    changed_.notify_one();
  }
}

}  // namespace millrace
