// The trace of calls: every call of a function that was compiled with -finstrument-functions,
// thread by thread, in its order. For one program that plays one event and prints its way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millrace {

/// A function was entered, or left.
struct TracedCall {
  int64_t at = 0;                  ///< nanoseconds of the steady clock
  const void* function = nullptr;  ///< that was entered; null: the innermost one was left
};

struct TracedThread {
  std::string name;  ///< as the system has it
  std::vector<TracedCall> calls;
};

/// The clock of TracedCall::at.
int64_t trace_time();

/// From now on calls are recorded, those of the calling thread apart.
void begin_trace();

/// Ends the recording. Threads that are in a call at this moment may lose its last entries.
std::vector<TracedThread> end_trace();

}  // namespace millrace
