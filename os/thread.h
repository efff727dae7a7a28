// The name and the priority of a thread, as the operating system has them.
#pragma once

#include <algorithm>
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

/// struct sched_attr of the kernel, whose header cannot be included together with sched.h.
struct ThreadSchedule {
  uint32_t size = sizeof(ThreadSchedule);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t niceness = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;  // of the usual policy: the time slice in nanoseconds; 0: the usual one
  uint64_t deadline = 0;
  uint64_t period = 0;
};

/// Changes how the kernel schedules the calling thread. No effect if the thread already has another
/// policy than the usual one, such as that of `chrt`.
template <class Change>
void change_schedule(const Change& change) {
  ThreadSchedule schedule;
  if (syscall(SYS_sched_getattr, 0, &schedule, sizeof(schedule), 0) != 0) return;
  if (schedule.policy != SCHED_OTHER) return;
  change(schedule);
  syscall(SYS_sched_setattr, 0, &schedule, 0);
}

/// Lets the calling thread run behind the other threads of the process, for work that no caller
/// awaits within milliseconds: it has time slices of the usual length, when it wakes up, it does
/// not interrupt a thread that runs (SCHED_BATCH), and `niceness` is added to its own. Threads that
/// it starts later inherit all of this.
inline void run_behind_others(int niceness) {
  change_schedule([niceness](ThreadSchedule& schedule) {
    schedule.policy = SCHED_BATCH;
    schedule.niceness = std::min(schedule.niceness + niceness, 19);
    schedule.runtime = 0;
  });
}

/// Asks the kernel for short time slices for the calling thread, for work that callers await within
/// milliseconds: the thread gets no more processor time, but when it wakes up, it interrupts
/// threads with longer slices. Threads that it starts later inherit this. Linux 6.12 and later do
/// so; earlier versions have no such slices, and nothing changes.
inline void run_promptly() {
  constexpr uint64_t kSlice = 100'000;
  change_schedule([](ThreadSchedule& schedule) { schedule.runtime = kSlice; });
}

/// The niceness of threads that work in the background: beside a busy thread, each gets about a
/// quarter of a processor.
inline constexpr int kBackgroundNiceness = 5;

}  // namespace millrace
