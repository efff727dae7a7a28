// LiveThread: the thread of the live messages. It calls LiveHub::tick() ten times a second while
// clients watch, and waits otherwise.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "orchestrator/service/live_hub.h"

namespace millrace {

class LiveThread {
 public:
  /// The parts outlive the object.
  explicit LiveThread(LiveHub::Parts parts);
  /// Waits for a running tick.
  ~LiveThread();
  LiveThread(const LiveThread&) = delete;
  LiveThread& operator=(const LiveThread&) = delete;

  /// LiveHub::check().
  Status check(const LiveRequest& request) { return hub_.check(request); }
  /// LiveHub::add(). Any thread.
  void add(LiveRequest request, std::shared_ptr<LiveSink> sink);

 private:
  void run();

  LiveHub hub_;
  std::mutex lock_;
  std::condition_variable changed_;
  bool stops_ = false;  ///< guarded by lock_
  std::thread thread_;
};

}  // namespace millrace
