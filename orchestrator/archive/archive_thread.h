// ArchiveThread: writes the pages of archives on a thread of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "orchestrator/archive/archive_files.h"
#include "orchestrator/ports/archiver.h"

namespace millrace {

class ArchiveThread {
 public:
  /// `folder` has the archives of all namespaces. `line` is called on the thread of this object;
  /// what it refers to outlives this object.
  ArchiveThread(std::filesystem::path folder, ArchiveLine line);
  /// Finishes the page that is being written; its `done` is called. Other pages are dropped.
  ~ArchiveThread();
  ArchiveThread(const ArchiveThread&) = delete;
  ArchiveThread& operator=(const ArchiveThread&) = delete;

  /// Writes the page (Archiver). `done` is called on the thread of this object.
  void write(ArchivePage page, std::function<void(ArchivedPage)> done);

 private:
  void run();

  const std::filesystem::path folder_;
  const ArchiveLine line_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::deque<std::pair<ArchivePage, std::function<void(ArchivedPage)>>> pages_;
  bool stops_ = false;
  std::thread thread_;  ///< last, because it uses the other members
};

}  // namespace millrace
