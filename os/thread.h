// What the tools of an operating system show of a thread.
#pragma once

#include <pthread.h>

namespace millrace {

/// Names the calling thread, as `top -H` and profiles show it; at most 15 bytes. Threads that it
/// starts have the name too, until they get another.
inline void name_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

}  // namespace millrace
