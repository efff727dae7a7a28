// The main function of the processes that the pool starts: the launcher, or a worker. A worker
// evaluates the requests that it receives, one at a time, until the pool closes its socket. Some
// programs are expected to crash a worker; a worker holds no data that would be lost.
#pragma once

#include <optional>

namespace millrace {

/// A worker's exit code when it cannot be confined.
inline constexpr int kNotConfinedExit = 43;

/// Call it first in main: if this process was started as a launcher or a worker, runs as such and
/// returns its exit code; otherwise returns nullopt.
std::optional<int> run_as_jq_process(int argc, char** argv);

}  // namespace millrace
