#include "orchestrator/service/live_thread.h"

#include <chrono>
#include <utility>

#include "orchestrator/service/series.h"
#include "os/thread.h"

namespace millrace {
namespace {

constexpr std::chrono::milliseconds kTenth(100);

}  // namespace

LiveThread::LiveThread(LiveHub::Parts parts, std::function<void()> sample)
    : hub_(std::move(parts)), sample_(std::move(sample)), thread_([this] {
        name_thread("live");
        run();
      }) {}

void LiveThread::stop() {
  {
    const std::lock_guard lock(lock_);
    stops_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LiveThread::add(LiveRequest request, std::shared_ptr<LiveSink> sink) {
  hub_.add(std::move(request), std::move(sink));
  const std::lock_guard lock(lock_);
  changed_.notify_all();
}

void LiveThread::run() {
  auto next_sample = std::chrono::steady_clock::now() + Series::kStep;
  std::unique_lock lock(lock_);
  while (!stops_) {
    lock.unlock();
    if (std::chrono::steady_clock::now() >= next_sample) {
      sample_();
      next_sample += Series::kStep;
    }
    const bool is_watched = hub_.is_watched();
    if (is_watched) hub_.advance();
    lock.lock();
    if (is_watched) {
      changed_.wait_for(lock, kTenth, [this] { return stops_; });
    } else {
      changed_.wait_until(lock, next_sample, [this] { return stops_ || hub_.is_watched(); });
    }
  }
}

}  // namespace millrace
