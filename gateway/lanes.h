// WorkerLane: a pool of threads with a bounded queue, for handlers that may take long and must not
// block the gateway's thread.
#pragma once

#include <atomic>
#include <functional>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

namespace millrace {

class WorkerLane {
 public:
  WorkerLane(size_t threads, size_t most_waiting) : pool_(threads), most_(threads + most_waiting) {}

  /// Runs the work on a thread of the pool. Returns false, without running it, if too much work is
  /// waiting. Any thread.
  bool run(std::function<void()> work) {
    if (waiting_.fetch_add(1) >= most_) {
      waiting_.fetch_sub(1);
      return false;
    }
    boost::asio::post(pool_, [this, work = std::move(work)] {
      work();
      waiting_.fetch_sub(1);
    });
    return true;
  }

  /// Drops the waiting work; returns when the running work has ended.
  void stop() {
    pool_.stop();
    pool_.join();
  }

 private:
  boost::asio::thread_pool pool_;
  std::atomic<size_t> waiting_ = 0;
  const size_t most_;
};

}  // namespace millrace
