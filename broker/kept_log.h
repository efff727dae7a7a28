// KeptLog: the tail of the log (log/log_tail.h) of one node, which the reader of the log and the
// appends of the node add to. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "broker/log/log_tail.h"

namespace millrace {

class KeptLog {
 public:
  /// `base`: how far the node has the log.
  explicit KeptLog(LogPlace base) : tail_(base) {}

  /// As LogTail::add(), at the present time.
  void add(uint64_t sequence, std::optional<LogMessage> message) {
    const std::lock_guard lock(mutex_);
    tail_.add(sequence, std::move(message), std::chrono::steady_clock::now());
  }

  /// Counts messages that this node has appended again.
  void note_restored(uint64_t count) {
    const std::lock_guard lock(mutex_);
    restored_ += count;
  }
  uint64_t restored() const {
    const std::lock_guard lock(mutex_);
    return restored_;
  }

  /// A copy, which shares the messages.
  LogTail tail() const {
    const std::lock_guard lock(mutex_);
    return tail_;
  }

 private:
  mutable std::mutex mutex_;
  LogTail tail_;
  uint64_t restored_ = 0;
};

}  // namespace millrace
