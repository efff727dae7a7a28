// JobThread: a thread that does jobs one after another, in the order in which they come.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "os/thread.h"

namespace millrace {

class JobThread {
 public:
  /// `name`: as in name_thread().
  explicit JobThread(const char* name) : thread_([this, name] { run(name); }) {}

  /// Ends the thread behind the job that is under way; jobs that wait are dropped.
  ~JobThread() { stop(); }
  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;

  /// Adds a job. After stop() it is dropped. Any thread; never blocks.
  void put(std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return;
    jobs_.push_back(std::move(job));
    changed_.notify_all();
  }

  /// As the destructor. May be called again.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run(const char* name) {
    name_thread(name);
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return is_stopping_ || !jobs_.empty(); });
      if (is_stopping_) return;
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool is_stopping_ = false;
  std::thread thread_;  ///< destroyed first
};

}  // namespace millrace
