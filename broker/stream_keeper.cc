#include "broker/stream_keeper.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "os/thread.h"

namespace millrace {

StreamKeeper::StreamKeeper(Connection& connection, std::vector<StreamSettings> streams)
    : connection_(connection), streams_(std::move(streams)), thread_(&StreamKeeper::run, this) {}

StreamKeeper::~StreamKeeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

Result<StreamInfo> StreamKeeper::find(const StreamSettings& stream) {
  Result<StreamInfo> found = find_stream(connection_, stream);
  if (found) log_notes(stream, *found);
  return found;
}

Result<StreamInfo> StreamKeeper::ensure(const StreamSettings& stream) {
  Result<StreamInfo> found = find(stream);
  if (found || found.error().code != "broker.not_found") return found;
  Result<StreamInfo> made = ensure_stream(connection_, stream);
  if (!made) return made;
  spdlog::info("created stream {}", stream.name);
  log_notes(stream, *made);
  return made;
}

void StreamKeeper::doubt() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(doubted_, true)) return;
  changed_.notify_all();
}

void StreamKeeper::run() {
  name_thread("keeper");
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || doubted_; });
    if (changed_.wait_for(lock, kLeaveAlone, [this] { return stopping_; })) return;
    doubted_ = false;
    lock.unlock();
    for (const StreamSettings& stream : streams_) {
      const Result<StreamInfo> there = ensure(stream);
      if (!there) log_failure(stream, there.error());
    }
    lock.lock();
  }
}

void StreamKeeper::log_notes(const StreamSettings& stream, const StreamInfo& info) {
  {
    const std::lock_guard lock(mutex_);
    if (logged_failure_.erase(stream.name) > 0) {
      spdlog::info("stream {} accepts messages again", stream.name);
    }
    if (std::exchange(logged_notes_[stream.name], info.notes) == info.notes) return;
  }
  for (const std::string& note : info.notes) spdlog::warn("{}", note);
}

void StreamKeeper::log_failure(const StreamSettings& stream, const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(logged_failure_[stream.name], error.message) == error.message) return;
  }
  spdlog::error("stream {} accepts no messages: {}", stream.name, error.message);
}

}  // namespace millrace
