// Starts child processes of this program: the launcher and the workers. A child inherits nothing
// from its parent but one socket: no environment, no other descriptor, no blocked signal.
#pragma once

#include <string>

#include <sys/types.h>

#include "base/result.h"
#include "os/descriptor.h"

namespace millrace {

/// The hidden verbs of the program that start a launcher or a worker.
inline constexpr const char* kLauncherVerb = "jq-launcher";
inline constexpr const char* kWorkerVerb = "jq-worker";
inline constexpr const char* kBackgroundWorkerVerb = "jq-worker-background";

/// The descriptor of a child's socket, in the child.
inline constexpr int kChildFd = 3;

struct Child {
  pid_t pid = -1;
  Descriptor socket;  ///< the parent's end
};

/// Starts `program` with this verb and a socket of this type (SOCK_STREAM, SOCK_SEQPACKET). Error:
/// `jq.start`; errno has the reason.
Result<Child> start_child(const std::string& program, const char* verb, int socket_type);

/// Call it first in a child: ignores the signals that a terminal or a service manager sends to all
/// processes. These signals are for the millrace process only: it needs the child while it shuts
/// down, and the child ends when its socket is closed.
void leave_signals_to_the_program();

}  // namespace millrace
