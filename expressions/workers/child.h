// Starts child processes of millrace: the launcher and the jq workers. A child process inherits
// nothing from its parent but one socket: no environment, no other descriptor, no blocked signal.
#pragma once

#include <string>

#include <sys/types.h>

#include "base/result.h"
#include "os/descriptor.h"

namespace millrace {

/// The hidden verbs of the millrace command that run as a launcher or a jq worker.
inline constexpr const char* kLauncherVerb = "jq-launcher";
inline constexpr const char* kWorkerVerb = "jq-worker";
inline constexpr const char* kBackgroundWorkerVerb = "jq-worker-background";

/// The descriptor of a child's socket, in the child.
inline constexpr int kChildFd = 3;

struct Child {
  pid_t pid = -1;
  Descriptor socket;  ///< the parent's end
};

/// Starts the executable `program` with this verb and a socket of this type (SOCK_STREAM,
/// SOCK_SEQPACKET). Error: `jq.start`; errno has the reason.
Result<Child> start_child(const std::string& program, const char* verb, int socket_type);

/// Call it first in a child process: ignores the signals that a terminal or a service manager sends
/// to all processes. These signals are for the millrace process only: millrace needs the child
/// process while millrace shuts down, and the child process ends when its socket is closed.
void leave_signals_to_the_program();

}  // namespace millrace
