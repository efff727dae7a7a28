// Backups: the backup that a running server gives out, chunk by chunk (docs/http.md). A backup is
// of one commit: it holds a Snapshot from begin() until it ends. The pages of the database file are
// checked and the Snapshot is taken on the thread `backup`; chunks are read on the threads of their
// callers. The Snapshot keeps LMDB from using freed pages again, so there is one backup at a time,
// and a backup ends by itself if no caller asks for a chunk of it for a while. A backup whose
// caller has closed the connection ends when another one is to begin. Any thread.
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
#include "orchestrator/service/service.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// How long a backup lasts after its begin or its latest chunk.
inline constexpr Duration kBackupIdle = std::chrono::seconds(60);

/// How long after its begin or its latest chunk a backup whose caller has closed the connection
/// still refuses another one. In this time the caller may connect again.
inline constexpr Duration kBackupAbandoned = std::chrono::seconds(10);

/// The error code of a backup that is refused for this time.
inline constexpr std::string_view kBackupEnding = "backup.ending";

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
  /// (there is a backup, which the message describes), kBackupEnding (there is one whose caller has
  /// closed the connection; the message says how long), `store.corrupt` (a page is damaged: to read
  /// its rows could end the process), `stopping`, `backup.abandoned` (the caller has closed the
  /// connection meanwhile), and those of make_backup_head().
  void begin(const CallerMark& caller, Done done);

  /// Chunk `number`, counted from 1; nullopt: the chunk before it was the last one. `number` must
  /// be the number of the chunk that was given last, whose answer may have been lost, or the next
  /// one. From now on the backup is that of this caller. Errors: `backup.not_found` (the backup has
  /// ended, or never existed), `backup.chunk` (another number), and those of the store.
  Result<std::optional<std::string>> chunk(std::string_view id, uint64_t number,
                                           const CallerMark& caller);

  /// Ends the backup: {"id","ended":true}. Error `backup.not_found`.
  Result<Json> end(std::string_view id);

 private:
  struct Backup {
    std::string id;
    std::unique_ptr<Snapshot> view;
    CallerMark caller;
    uint64_t given = 0;  ///< number of the chunk that was given last; 0: none
    BackupChunk last;    ///< that chunk
    Duration asked_at{};
  };

  void run(const CallerMark& caller, const Done& done);
  Result<Json> open(const CallerMark& caller);
  Status check_wanted(const CallerMark& caller);
  void wait_for_end(const std::string& id);
  void end_if_idle();
  void end_if_abandoned();
  Error refusal() const;
  Status check_id(std::string_view id);

  const Environment& environment_;
  const Clock& clock_;
  const std::string release_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool opens_ = false;  ///< the thread opens a backup that is not in backup_ yet
  TimePoint began_;     ///< when the latest backup began
  bool stopping_ = false;
  std::optional<Backup> backup_;
  std::thread thread_;
};

}  // namespace millrace
