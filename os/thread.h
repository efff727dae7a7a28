// The name and the priority of a thread, as the operating system has them.
#pragma once

#include <cstdint>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/// Asks the kernel for short time slices for the calling thread, for work that callers await within
/// milliseconds: the thread gets no more processor time, but when it wakes up, it interrupts
/// threads with longer slices. Linux 6.12 and later do so; earlier versions have no such slices,
/// and nothing changes. No effect if the thread already has another policy than the usual one.
inline void run_promptly() {
  // struct sched_attr of the kernel, whose header cannot be included together with sched.h.
  struct {
    uint32_t size = 0;
    uint32_t policy = 0;
    uint64_t flags = 0;
    int32_t niceness = 0;
    uint32_t priority = 0;
    uint64_t runtime = 0;  // of the usual policy: the time slice in nanoseconds
    uint64_t deadline = 0;
    uint64_t period = 0;
  } attributes;
  constexpr uint64_t kSlice = 100'000;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.runtime = kSlice;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

/// The niceness of threads that work in the background: beside a busy thread, each gets about a
/// quarter of a processor.
inline constexpr int kBackgroundNiceness = 5;

}  // namespace millrace
