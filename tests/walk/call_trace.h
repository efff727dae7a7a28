// The trace of calls: every call of a function that was compiled with -finstrument-functions,
// thread by thread, in the order of the calls. The program `walk` uses the trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millrace {

/// The entry into a function, or its return.
struct TracedCall {
  int64_t at = 0;                  ///< nanoseconds of the steady clock
  const void* function = nullptr;  ///< the entered function; null: the innermost one returns
};

struct TracedThread {
  std::string name;  ///< the thread's name, as the system shows it
  std::vector<TracedCall> calls;
};

/// The clock of TracedCall::at.
int64_t trace_time();

/// Starts the recording, without the calls of the calling thread.
void begin_trace();

/// Ends the recording. A thread that is within a call may lose its last entries.
std::vector<TracedThread> end_trace();

}  // namespace millrace
