// Backups: the backup that a running server gives out, chunk by chunk (docs/http.md). A backup is
// of one commit: it holds a Snapshot from begin() until it ends. The pages of the database file are
// checked and the Snapshot is taken on the thread `backup`; chunks are read on the threads of their
// callers. The Snapshot keeps LMDB from using freed pages again, so there is one backup at a time,
// and a backup ends by itself if no caller asks for a chunk of it for a while. Any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/backup/chunk.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// How long a backup lasts after its begin or its latest chunk.
inline constexpr Duration kBackupIdle = std::chrono::seconds(60);

class Backups {
 public:
  using Done = std::function<void(Result<Json>)>;

  /// `environment` and `clock` outlive the object. `release`: the version of millrace.
  Backups(const Environment& environment, const Clock& clock, std::string release)
      : environment_(environment), clock_(clock), release_(std::move(release)) {}

  /// Ends the backup. No other function may run.
  ~Backups();
  Backups(const Backups&) = delete;
  Backups& operator=(const Backups&) = delete;

  /// Begins a backup of the last commit. `done` is called once, on this thread or on the thread
  /// `backup`, with the members of the head (manifest.h) and {"id","aboutRows"}. Errors: `busy`
  /// (there is a backup), `store.corrupt` (a page is damaged: to read its rows could end the
  /// process), `stopping`, and those of read_backup_head().
  void begin(Done done);

  /// Chunk `number`, counted from 1; nullopt: the chunk before it was the last one. `number` must
  /// be the number of the chunk that was given last, whose answer may have been lost, or the next
  /// one. Errors: `backup.not_found` (the backup has ended, or never existed), `backup.chunk`
  /// (another number), and those of the store.
  Result<std::optional<std::string>> chunk(std::string_view id, uint64_t number);

  /// Ends the backup: {"id","ended":true}. Error `backup.not_found`.
  Result<Json> end(std::string_view id);

 private:
  struct Backup {
    std::string id;
    std::unique_ptr<Snapshot> view;
    uint64_t given = 0;  ///< number of the chunk that was given last; 0: none
    BackupChunk last;    ///< that chunk
    Duration asked_at{};
  };

  void run(const Done& done);
  Result<Json> open();
  void wait_for_end(const std::string& id);
  void end_if_idle();
  Status check_id(std::string_view id);

  const Environment& environment_;
  const Clock& clock_;
  const std::string release_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool opens_ = false;  ///< the thread opens a backup that is not in backup_ yet
  bool stopping_ = false;
  std::optional<Backup> backup_;
  std::thread thread_;
};

}  // namespace millrace
