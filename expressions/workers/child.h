// A process of this program in a part of its own (launcher, worker), which begins with nothing of
// its parent's but one socket: no environment, no other descriptor, no blocked signal.
#pragma once

#include <string>

#include <sys/types.h>

#include "base/result.h"
#include "os/descriptor.h"

namespace millrace {

/// The hidden verbs of the program that are the parts.
inline constexpr const char* kLauncherVerb = "jq-launcher";
inline constexpr const char* kWorkerVerb = "jq-worker";
inline constexpr const char* kBackgroundWorkerVerb = "jq-worker-background";

/// The descriptor at which a child finds its socket.
inline constexpr int kChildFd = 3;

struct Child {
  pid_t pid = -1;
  Descriptor socket;  ///< our end
};

/// Starts `program` with that verb and a socket of that type (SOCK_STREAM, SOCK_SEQPACKET).
/// Error: `jq.start`, errno says why.
Result<Child> start_child(const std::string& program, const char* verb, int socket_type);

/// For a child, first of all: what a terminal or a service manager sends to everybody is for the
/// program; a child is needed while that winds down, and ends with its socket.
void leave_signals_to_the_program();

}  // namespace millrace
