// Starts a program as a child process, by fork and exec. Every program is started here, except the
// jq workers (expressions/workers/child.h). What is done with the child's streams, and who
// waits for its end, is up to the caller.
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
  std::vector<std::string> command;  ///< the first is a path
  /// `NAME=value`; nullopt: the environment of this process.
  std::optional<std::vector<std::string>> environment;
  // Descriptors of this process that become its standard streams; -1: those of this process.
  int input = -1;
  int output = -1;
  int errors = -1;
  std::vector<int> kept;  ///< further descriptors that the child has, under their numbers
};

/// A child process that runs, or has ended and was not waited for.
struct LaunchedProcess {
  pid_t pid = -1;
  Descriptor pidfd;  ///< readable when the process has ended
};

/// Starts the program in a session of its own, so that a Ctrl-C at the terminal does not reach it,
/// with no blocked signal. The kernel kills it when the thread that called this ends. Error
/// `process.start`: no descriptors or processes are left; then nothing runs. A program that can't
/// be executed ends with code 127.
Result<LaunchedProcess> launch(LaunchOptions options);

/// Waits for its end; then the process is reaped and must not be waited for again. Returns its exit
/// code, as a shell has it: 128 and the number of the signal that ended it. nullopt: it runs on.
std::optional<int> wait_for_end(const LaunchedProcess& process, Duration at_most);

/// SIGKILL; returns when the process is gone.
void kill_process(const LaunchedProcess& process);

}  // namespace millrace
