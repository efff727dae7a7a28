#include "orchestrator/service/early_event_thread.h"

#include <chrono>

#include <spdlog/spdlog.h>

#include "os/thread.h"

namespace millrace {
namespace {

constexpr Duration kBetweenTries = std::chrono::milliseconds(500);
/// How often the thread looks whether the engine has taken the events that were found.
constexpr Duration kHeldUpFor = std::chrono::milliseconds(10);
/// How often the thread looks for events in memory that no search has used for long.
constexpr Duration kBetweenCleanings = std::chrono::minutes(1);

}  // namespace

EarlyEventThread::EarlyEventThread(StoredEvents& events, const Clock& clock, EarlyEventFeed* feed)
    : clock_(clock), search_(events, {}, feed) {
  thread_ = std::thread([this] { run(); });
}

EarlyEventThread::~EarlyEventThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void EarlyEventThread::ask(LookBack asked, Done done) {
  {
    const std::lock_guard lock(mutex_);
    asked_.emplace_back(std::move(asked), std::move(done));
  }
  changed_.notify_all();
}

size_t EarlyEventThread::waiting() const {
  const std::lock_guard lock(mutex_);
  return asked_.size() + searching_;
}

void EarlyEventThread::run() {
  name_thread("lookback");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    auto asked = std::exchange(asked_, {});
    searching_ += asked.size();
    lock.unlock();
    for (auto& [look_back, done] : asked) search_.ask(std::move(look_back), std::move(done));
    if (search_.has_work()) {
      note(search_.turn(clock_.elapsed()));
    } else {
      search_.forget_unused(clock_.elapsed());
    }
    const bool is_held_up = search_.has_work() && search_.is_held_up();
    lock.lock();
    searching_ = search_.waiting();
    const auto is_stopped = [this] { return stopping_; };
    if (failing_) {
      changed_.wait_for(lock, kBetweenTries, is_stopped);
    } else if (is_held_up) {
      changed_.wait_for(lock, kHeldUpFor, is_stopped);
    } else if (!search_.has_work()) {
      changed_.wait_for(lock, kBetweenCleanings, [this] { return stopping_ || !asked_.empty(); });
    }
  }
}

/// Logs when searches begin to fail, and when they succeed again.
void EarlyEventThread::note(const Status& turned) {
  if (failing_ == !turned.has_value()) return;
  failing_ = !turned.has_value();
  if (failing_) {
    spdlog::warn("the event stream cannot be read for `lookback`, which is tried again: {}: {}",
                 turned.error().code, turned.error().message);
  } else {
    spdlog::info("the event stream is read for `lookback` again");
  }
}

}  // namespace millrace
