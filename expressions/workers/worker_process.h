// One worker process and the socket to it. Whoever holds it owns both: letting go kills the process
// and waits for its end, so none is left behind. The thread that starts it must live as long: the
// kernel ends the worker with that thread.
#pragma once

#include <span>
#include <string>

#include <sys/types.h>

#include "base/result.h"

namespace millrace {

class WorkerProcess {
 public:
  /// Starts `command` (a path and arguments) with a socket as descriptor kJqWorkerFd, no other
  /// descriptor of ours, and none of our environment. Error: `jq.worker_start`.
  static Result<WorkerProcess> start(std::span<const std::string> command);

  ~WorkerProcess();
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&&) = delete;

  /// Our end of the socket, non-blocking.
  int fd() const { return fd_; }
  pid_t pid() const { return pid_; }

  /// Kills the process if it still runs, and waits for it. The status as of waitpid; -1 if someone
  /// else took it.
  int end();

 private:
  WorkerProcess(int fd, pid_t pid) : fd_(fd), pid_(pid) {}

  int fd_;
  pid_t pid_;
};

}  // namespace millrace
