#include "orchestrator/archive/archive_thread.h"

#include "os/thread.h"

namespace millrace {

ArchiveThread::ArchiveThread(std::filesystem::path folder, ArchiveLine line)
    : folder_(std::move(folder)), line_(std::move(line)), thread_([this] { run(); }) {}

ArchiveThread::~ArchiveThread() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ArchiveThread::write(ArchivePage page, std::function<void(ArchivedPage)> done) {
  {
    const std::lock_guard lock(mutex_);
    pages_.emplace_back(std::move(page), std::move(done));
  }
  changed_.notify_all();
}

void ArchiveThread::run() {
  name_thread("archive");
  run_behind_others(kBackgroundNiceness);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stops_ || !pages_.empty(); });
    if (stops_) return;
    const auto [page, done] = std::move(pages_.front());
    pages_.pop_front();
    lock.unlock();
    done(write_page(folder_, page, line_));
    lock.lock();
  }
}

}  // namespace millrace
