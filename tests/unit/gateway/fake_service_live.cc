// The live messages of the FakeService.
#include <stdexcept>

#include "tests/support/patience.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {

Status FakeService::check_watch(const LiveRequest& request) {
  const std::lock_guard lock(mutex_);
  return check(request.ns);
}

void FakeService::watch(LiveRequest request, std::shared_ptr<LiveSink> sink) {
  if (ends_watches_) return sink->end(reset_message("deleted"));
  const std::lock_guard lock(mutex_);
  live_request_ = std::move(request);
  watchers_.push_back(std::move(sink));
  changed_.notify_all();
}

std::shared_ptr<LiveSink> FakeService::await_watcher() {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPatience, [&] { return !watchers_.empty(); })) {
    throw std::runtime_error("no request to watch has come");
  }
  std::shared_ptr<LiveSink> sink = std::move(watchers_.front());
  watchers_.pop_front();
  return sink;
}

LiveRequest FakeService::last_watch() {
  const std::lock_guard lock(mutex_);
  return live_request_;
}

}  // namespace millrace
