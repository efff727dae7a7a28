// What a process of ours is when the pool had it started: the launcher, or a worker, which
// evaluates what it is sent, one request at a time, until the pool goes away. A worker is expected
// to die of some programs; nothing is in it that is worth keeping.
#pragma once

#include <optional>

namespace millrace {

/// A worker's exit code when it cannot be confined.
inline constexpr int kNotConfinedExit = 43;

/// To be called first thing in main: if this process was started as one of these, is that and
/// returns its exit code; else returns nullopt.
std::optional<int> run_as_jq_process(int argc, char** argv);

}  // namespace millrace
