// Signals as something to wait for. Make one before any thread starts, so that all inherit it.
#pragma once

#include <csignal>
#include <initializer_list>

namespace millrace {

class EndSignals {
 public:
  /// Blocks SIGINT, SIGTERM and `more` for this thread and those that it starts; SIGPIPE is
  /// ignored.
  explicit EndSignals(std::initializer_list<int> more = {}) {
    sigemptyset(&signals_);
    for (const int signal : more) sigaddset(&signals_, signal);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
  }

  /// The set, for whoever waits on a descriptor (signalfd).
  const sigset_t& set() const { return signals_; }

  /// Whether SIGINT or SIGTERM came.
  bool pending() const {
    sigset_t came{};
    sigpending(&came);
    return sigismember(&came, SIGINT) == 1 || sigismember(&came, SIGTERM) == 1;
  }

  /// Returns when one of them came: which.
  int wait() const {
    int signal = 0;
    sigwait(&signals_, &signal);
    return signal;
  }

 private:
  sigset_t signals_{};
};

}  // namespace millrace
