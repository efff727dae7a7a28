// EndBySignal: while the object exists, a function is called before SIGINT or SIGTERM ends the
// process. A thread of the object waits for the signals, so that the function is called at once,
// whatever the other threads wait for.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "app/signals.h"

namespace millrace {

class EndBySignal {
 public:
  /// `before` is called on the thread of the object, at most once. Afterwards the signal ends the
  /// process, so that a shell sees by which signal the program ended.
  explicit EndBySignal(std::function<void()> before);
  /// Does not return if one of the signals has come. Afterwards the signals have their usual
  /// effect.
  ~EndBySignal();
  EndBySignal(const EndBySignal&) = delete;
  EndBySignal& operator=(const EndBySignal&) = delete;

 private:
  void wait();

  const EndSignals signals_;
  const std::function<void()> before_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace millrace
