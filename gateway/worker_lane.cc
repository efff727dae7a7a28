#include "gateway/worker_lane.h"

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

void WorkerLane::add_continuing(std::function<void()> work) {
  {
    const std::lock_guard guard(lock_);
    if (stops_) return;
    continuing_.push_back(std::move(work));
  }
  changed_.notify_one();
}

WorkerLane::Counts WorkerLane::counts() const {
  const std::lock_guard guard(lock_);
  return {.waiting = queue_.size() + continuing_.size(), .running = running_, .refused = refused_};
}

void WorkerLane::stop() {
  {
    const std::lock_guard guard(lock_);
    stops_ = true;
    queue_.clear();
    continuing_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

std::optional<WorkerLane::Job> WorkerLane::next() {
  if (stops_) return std::nullopt;
  continues_ = !continues_;
  const auto continuing = [this] {
    Job job{.work = std::move(continuing_.front())};
    continuing_.pop_front();
    return job;
  };
  if (continues_ && !continuing_.empty()) return continuing();
  if (auto taken = queue_.pop()) {
    return Job{.work = std::move(taken->work.run), .client = std::move(taken->client)};
  }
  if (continuing_.empty()) return std::nullopt;
  return continuing();
}

void WorkerLane::run(const char* thread_name) {
  name_thread(thread_name);
  std::unique_lock lock(lock_);
  while (!stops_) {
    std::optional<Job> job = next();
    if (!job) {
      changed_.wait(lock);
      continue;
    }
    ++running_;
    lock.unlock();
    job->work();
    job->work = nullptr;  // destroys the work outside the lock
    lock.lock();
    --running_;
    if (job->client) queue_.ended(*job->client);
    // Another work of this client may run now, and another thread may be free for it.
    changed_.notify_one();
  }
}

}  // namespace millrace
