// The name of a thread, as tools of the operating system show it.
#pragma once

#include <pthread.h>

namespace millrace {

/// Sets the name of the calling thread, which `top -H` and profilers show; at most 15 bytes.
/// Threads that this thread starts later inherit the name until they set their own.
inline void name_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

}  // namespace millrace
