// Signals as something to wait for. Make one before any thread starts, so that all inherit it.
#pragma once

#include <csignal>

namespace millrace {

class EndSignals {
 public:
  /// Blocks SIGINT and SIGTERM for this thread and those that it starts; SIGPIPE is ignored.
  EndSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
  }

  /// The set, for whoever waits on a descriptor (signalfd).
  const sigset_t& set() const { return signals_; }

  /// Whether one of them came.
  bool pending() const {
    sigset_t came{};
    sigpending(&came);
    return sigismember(&came, SIGINT) == 1 || sigismember(&came, SIGTERM) == 1;
  }

  /// Returns when one of them came.
  void wait() const {
    int signal = 0;
    sigwait(&signals_, &signal);
  }

 private:
  sigset_t signals_{};
};

}  // namespace millrace
