// Mailbox: a queue of messages from any thread to one reader thread, which takes all of them at
// once. Only the first message in an empty mailbox wakes the reader, which checks the mailbox again
// before it sleeps; a wake-up for every message would cost a system call each. PolledMailbox is for
// a reader that sleeps in poll(); a reader that sleeps elsewhere passes a function that wakes it.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "os/wake_event.h"

namespace millrace {

template <class T>
class Mailbox {
 public:
  /// `wake` ends the sleep of the reader thread, or its next sleep if it is awake. `wake` is called
  /// on any thread, without a lock held.
  explicit Mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Adds a message for the reader. After close() the message is dropped. Any thread; never blocks.
  void put(T message) {
    bool is_first = false;
    {
      const std::lock_guard lock(mutex_);
      if (is_closed_) return;
      is_first = messages_.empty();
      messages_.push_back(std::move(message));
    }
    if (is_first) wake_();
  }

  /// Closes the mailbox: from now on take() returns nullopt. Any thread; never blocks.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    wake_();
  }

  /// All messages that were put since the last call, in order; nullopt: the mailbox is closed.
  std::optional<std::vector<T>> take() {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return std::nullopt;
    return std::exchange(messages_, {});
  }

  /// The number of messages that wait.
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return messages_.size();
  }

 private:
  const std::function<void()> wake_;

  mutable std::mutex mutex_;  // guards the members below
  std::vector<T> messages_;
  bool is_closed_ = false;
};

/// A mailbox whose reader thread sleeps in poll().
template <class T>
class PolledMailbox {
 public:
  void put(T message) { mailbox_.put(std::move(message)); }
  void close() { mailbox_.close(); }
  /// Wakes the reader without a message. Any thread; never blocks.
  void wake() { event_.set(); }
  size_t size() const { return mailbox_.size(); }

  /// All messages that were put since the last call, in order; nullopt: the mailbox is closed. The
  /// wake-up is cleared before the messages are taken, so a message that comes later wakes the
  /// reader again.
  std::optional<std::vector<T>> take() {
    event_.clear();
    return mailbox_.take();
  }

  /// The descriptor to poll for reading; -1 if the system has no descriptor left: then the reader
  /// must call take() periodically. Reader thread only.
  int fd() { return event_.fd(); }

 private:
  WakeEvent event_;
  Mailbox<T> mailbox_{[this] { event_.set(); }};
};

}  // namespace millrace
