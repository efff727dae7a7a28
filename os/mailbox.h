// Mailbox: messages from any thread for one thread that takes all of them at once. That thread is
// woken once for all that it finds, since it looks again before it sleeps: a wake-up for each
// message would cost a system call for each. PolledMailbox is one for a thread that sleeps in
// poll(); where a thread sleeps elsewhere, it says how it is woken.
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
  /// `wake` ends the sleep of the thread that takes, or the next one if it does not sleep. It is
  /// called on any thread, and not under a lock.
  explicit Mailbox(std::function<void()> wake) : wake_(std::move(wake)) {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Any thread; never blocks. After close() the message is dropped.
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

  /// Any thread; never blocks. take() returns nullopt from now on.
  void close() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    wake_();
  }

  /// All messages that were put since the last call, in their order; nullopt: the mailbox is
  /// closed.
  std::optional<std::vector<T>> take() {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return std::nullopt;
    return std::exchange(messages_, {});
  }

  /// How many messages wait.
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return messages_.size();
  }

 private:
  const std::function<void()> wake_;

  mutable std::mutex mutex_;  // guards what follows
  std::vector<T> messages_;
  bool is_closed_ = false;
};

/// A mailbox whose thread sleeps in poll().
template <class T>
class PolledMailbox {
 public:
  void put(T message) { mailbox_.put(std::move(message)); }
  void close() { mailbox_.close(); }
  size_t size() const { return mailbox_.size(); }

  /// The wake-up is taken back first: what comes behind that wakes again.
  std::optional<std::vector<T>> take() {
    event_.clear();
    return mailbox_.take();
  }

  /// The descriptor to poll for reading. -1 where no descriptor is left: then take() must be called
  /// every now and then. Only for the thread that takes.
  int fd() { return event_.fd(); }

 private:
  WakeEvent event_;
  Mailbox<T> mailbox_{[this] { event_.set(); }};
};

}  // namespace millrace
