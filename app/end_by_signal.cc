#include "app/end_by_signal.h"

#include <csignal>
#include <utility>

#include <unistd.h>

namespace millrace {

EndBySignal::EndBySignal(std::function<void()> before)
    : before_(std::move(before)), thread_([this] { wait(); }) {}

EndBySignal::~EndBySignal() {
  is_over_ = true;
  // The signal ends no thread: it is blocked, and wait() takes it.
  pthread_kill(thread_.native_handle(), SIGTERM);  // NOLINT(bugprone-bad-signal-to-kill-thread)
  thread_.join();
  pthread_sigmask(SIG_UNBLOCK, &signals_.set(), nullptr);
}

void EndBySignal::wait() {
  const int signal = signals_.wait();
  if (is_over_) return;
  before_();
  sigset_t one{};
  sigemptyset(&one);
  sigaddset(&one, signal);
  std::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  std::raise(signal);
  ::_exit(128 + signal);  // the kernel ignores the signal for the first process of a container
}

}  // namespace millrace
