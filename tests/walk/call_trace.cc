#include "tests/walk/call_trace.h"

#include <array>
#include <atomic>
#include <ctime>
#include <memory>
#include <mutex>

#include <pthread.h>

namespace millrace {
namespace {

/// The calls of a thread. Only that thread writes the calls; while it does, `mutex` excludes
/// end_trace().
struct Recorder {
  std::mutex mutex;
  pthread_t thread = pthread_self();
  TracedThread traced;
};

std::atomic<bool> g_records = false;
std::mutex g_mutex;
std::vector<std::shared_ptr<Recorder>> g_recorders;
thread_local std::shared_ptr<Recorder> t_recorder;
thread_local bool t_is_excluded = false;
thread_local bool t_is_recording = false;  ///< the calls of record() itself are not recorded

void record(const void* function) {
  if (!g_records.load(std::memory_order_relaxed) || t_is_excluded || t_is_recording) return;
  t_is_recording = true;
  if (!t_recorder) {
    t_recorder = std::make_shared<Recorder>();
    const std::lock_guard lock(g_mutex);
    g_recorders.push_back(t_recorder);
  }
  {
    const std::lock_guard lock(t_recorder->mutex);
    t_recorder->traced.calls.push_back({trace_time(), function});
  }
  t_is_recording = false;
}

}  // namespace

int64_t trace_time() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void begin_trace() {
  t_is_excluded = true;
  g_records = true;
}

std::vector<TracedThread> end_trace() {
  g_records = false;
  std::vector<TracedThread> threads;
  const std::lock_guard lock(g_mutex);
  for (const auto& recorder : g_recorders) {
    const std::lock_guard of_it(recorder->mutex);
    std::array<char, 16> name{};
    if (recorder.use_count() > 1) {  // the thread still runs
      pthread_getname_np(recorder->thread, name.data(), name.size());
    }
    recorder->traced.name = name.data();
    threads.push_back(std::move(recorder->traced));
  }
  g_recorders.clear();
  return threads;
}

}  // namespace millrace

// The compiler inserts calls of these functions at the begin and at the end of each function.
extern "C" {
void __cyg_profile_func_enter(void* function, void*) { millrace::record(function); }
void __cyg_profile_func_exit(void*, void*) { millrace::record(nullptr); }
}
