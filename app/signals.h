// EndSignals: blocks signals, so that one thread can wait for them. Create the object before any
// thread starts, so that all threads inherit the blocked signals.
#pragma once

#include <chrono>
#include <csignal>
#include <initializer_list>

namespace millrace {

class EndSignals {
 public:
  /// Blocks SIGINT, SIGTERM and `more` for this thread and the threads that it starts. Ignores
  /// SIGPIPE.
  explicit EndSignals(std::initializer_list<int> more = {}) {
    sigemptyset(&signals_);
    for (const int signal : more) sigaddset(&signals_, signal);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
  }

  /// The blocked signals, for a descriptor to wait on (signalfd).
  const sigset_t& set() const { return signals_; }

  /// Whether SIGINT or SIGTERM is pending.
  bool pending() const {
    sigset_t came{};
    sigpending(&came);
    return sigismember(&came, SIGINT) == 1 || sigismember(&came, SIGTERM) == 1;
  }

  /// Waits for one of the blocked signals; returns false if none came within `at_most`.
  bool wait_for(std::chrono::milliseconds at_most) const {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(at_most);
    const timespec time{.tv_sec = seconds.count(),
                        .tv_nsec = std::chrono::nanoseconds(at_most - seconds).count()};
    return sigtimedwait(&signals_, nullptr, &time) > 0;
  }

  /// Waits for one of the blocked signals and returns its number.
  int wait() const {
    int signal = 0;
    sigwait(&signals_, &signal);
    return signal;
  }

 private:
  sigset_t signals_{};
};

}  // namespace millrace
