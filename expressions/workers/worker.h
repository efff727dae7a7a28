// The main function of the child processes for jq: a launcher, or a jq worker. A jq worker
// evaluates the requests that it receives, one at a time, until the pool closes its socket. Some jq
// programs are expected to crash a jq worker; a jq worker holds no data that would be lost.
#pragma once

#include <optional>

namespace millrace {

/// A jq worker's exit code when it cannot be confined.
inline constexpr int kNotConfinedExit = 43;

/// Call it first in main: if this process was started as a launcher or a jq worker, runs as such
/// and returns its exit code; otherwise returns nullopt.
std::optional<int> run_as_jq_process(int argc, char** argv);

}  // namespace millrace
