// The name and the priority of a thread, as the operating system has them.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

namespace millrace {

/// Sets the name of the calling thread, which `top -H` and profilers show; at most 15 bytes.
/// Threads that this thread starts later inherit the name until they set their own.
inline void name_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

/// Lets the calling thread run behind the other threads of the process, for work that no caller
/// awaits within milliseconds: when it wakes up, it does not interrupt a thread that runs
/// (SCHED_BATCH), and `niceness` is added to its own. Threads that it starts later inherit both. No
/// effect if the thread already has another policy than the usual one, such as that of `chrt`.
inline void run_behind_others(int niceness) {
  if (sched_getscheduler(0) != SCHED_OTHER) return;
  const sched_param priority{};
  sched_setscheduler(0, SCHED_BATCH, &priority);
  if (niceness > 0) setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + niceness);
}

/// The niceness of threads that work in the background: beside a busy thread, each gets about a
/// quarter of a processor.
inline constexpr int kBackgroundNiceness = 5;

}  // namespace millrace
