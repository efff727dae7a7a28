// Starts a program as a child process, by fork and exec. launch() starts every program except the
// jq workers (expressions/workers/child.h). The caller provides the child's streams and waits for
// the end of the child.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "base/time.h"
#include "os/descriptor.h"

namespace millrace {

struct LaunchOptions {
  std::vector<std::string> command;  ///< the path of the program, then its arguments
  /// The child's environment as `NAME=value`; nullopt: the environment of this process.
  std::optional<std::vector<std::string>> environment;
  // Descriptors of this process that become the child's standard streams; -1: the child inherits
  // the stream of this process.
  int input = -1;
  int output = -1;
  int errors = -1;
  std::vector<int> kept;  ///< further descriptors that the child inherits, with the same numbers
};

/// A child process that runs, or that has ended and is not yet reaped.
struct LaunchedProcess {
  pid_t pid = -1;
  Descriptor pidfd;  ///< readable when the process has ended
};

/// Starts the program in a new session, so that a Ctrl-C at the terminal does not reach it, and
/// with no signal blocked. The kernel kills the child when the calling thread ends. Error
/// `process.start`: no descriptors or processes are left; then no child runs. If the program cannot
/// be executed, the child ends with exit code 127.
Result<LaunchedProcess> launch(LaunchOptions options);

/// Waits at most `at_most` for the process to end. A process that has ended is reaped, so the
/// function must not be called again for the same process. Returns the exit code as a shell reports
/// it (128 plus the number of the signal that ended it); nullopt if the process still runs.
std::optional<int> wait_for_end(const LaunchedProcess& process, Duration at_most);

/// Sends SIGKILL, waits for the end of the process and reaps it.
void kill_process(const LaunchedProcess& process);

}  // namespace millrace
