// LiveThread: the thread of the live messages and of the series. It calls LiveHub::advance() ten
// times a second while clients watch, and samples the series each ten seconds.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "orchestrator/service/live_hub.h"

namespace millrace {

class LiveThread {
 public:
  /// The parts outlive the object.
  /// `sample` is called each Series::kStep.
  LiveThread(LiveHub::Parts parts, std::function<void()> sample);
  ~LiveThread() { stop(); }
  LiveThread(const LiveThread&) = delete;
  LiveThread& operator=(const LiveThread&) = delete;

  /// Ends the thread; waits for a running call. May be called again.
  void stop();

  /// LiveHub::check().
  Status check(const LiveRequest& request) { return hub_.check(request); }
  /// LiveHub::add(). Any thread.
  void add(LiveRequest request, std::shared_ptr<LiveSink> sink);

 private:
  void run();

  LiveHub hub_;
  const std::function<void()> sample_;
  std::mutex lock_;
  std::condition_variable changed_;
  bool stops_ = false;  ///< guarded by lock_
  std::thread thread_;
};

}  // namespace millrace
