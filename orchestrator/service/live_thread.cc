#include "orchestrator/service/live_thread.h"

#include <chrono>
#include <utility>

#include "os/thread.h"

namespace millrace {
namespace {

constexpr std::chrono::milliseconds kTickTime(100);

}  // namespace

LiveThread::LiveThread(LiveHub::Parts parts)
    : hub_(std::move(parts)), thread_([this] {
        name_thread("live");
        run();
      }) {}

LiveThread::~LiveThread() {
  {
    const std::lock_guard lock(lock_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LiveThread::add(LiveRequest request, std::shared_ptr<LiveSink> sink) {
  hub_.add(std::move(request), std::move(sink));
  const std::lock_guard lock(lock_);
  changed_.notify_all();
}

void LiveThread::run() {
  std::unique_lock lock(lock_);
  while (!stops_) {
    if (hub_.is_watched()) {
      lock.unlock();
      hub_.tick();
      lock.lock();
      changed_.wait_for(lock, kTickTime, [this] { return stops_; });
    } else {
      changed_.wait(lock, [this] { return stops_ || hub_.is_watched(); });
    }
  }
}

}  // namespace millrace
