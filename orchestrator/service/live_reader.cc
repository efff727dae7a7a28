#include "orchestrator/service/live_reader.h"

#include <utility>

#include "os/thread.h"

namespace millrace {

void LiveReader::ask(LiveQuestion question) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    asked_.push_back(std::move(question));
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  changed_.notify_all();
}

std::vector<LiveAnswer> LiveReader::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(answers_, {});
}

void LiveReader::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LiveReader::run() {
  name_thread("live-reader");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    changed_.wait(lock, [this] { return stopping_ || !asked_.empty(); });
    for (LiveQuestion& question : std::exchange(asked_, {})) {
      if (stopping_) return;
      lock.unlock();
      LiveAnswer found = answer(std::move(question));
      lock.lock();
      answers_.push_back(std::move(found));
    }
  }
}

LiveAnswer LiveReader::answer(LiveQuestion question) {
  if (auto* const events = std::get_if<LiveEventsQuestion>(&question)) {
    auto read = read_live_events(events_, *events);
    return LiveEventsAnswer{std::move(*events), std::move(read)};
  }
  auto& letters = std::get<LiveLettersQuestion>(question);
  auto read = read_live_letters(letters_, clock_, letters);
  return LiveLettersAnswer{std::move(letters), std::move(read)};
}

}  // namespace millrace
