// The worker process: evaluates what the pool sends it, one request at a time, until the pool goes
// away. It is expected to die of some programs; nothing is in it that is worth keeping.
#pragma once

namespace millrace {

/// The descriptor at which a worker started by JqPool finds its socket.
inline constexpr int kJqWorkerFd = 3;

/// The worker's main function; returns the exit code of the process. The process has to be exec'd
/// for this alone: its limits (memory, files) are lowered for good.
int run_jq_worker(int fd);

}  // namespace millrace
