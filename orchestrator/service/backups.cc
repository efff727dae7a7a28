#include "orchestrator/service/backups.h"

#include <array>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <sodium.h>
#include <spdlog/spdlog.h>

#include "base/bytes.h"
#include "orchestrator/backup/backup_head.h"
#include "orchestrator/store/disk/page_check.h"
#include "orchestrator/store/tables.h"
#include "os/thread.h"

namespace millrace {
namespace {

/// A random id, so that a caller that continues after a restart of the server does not get chunks
/// of another backup.
std::string random_backup_id() {
  std::array<uint8_t, 16> id{};
  randombytes_buf(id.data(), id.size());
  return to_hex(id);
}

}  // namespace

Backups::~Backups() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Backups::begin(const CallerMark& caller, Done done) {
  std::unique_lock lock(mutex_);
  end_if_idle();
  end_if_abandoned();
  if (opens_ || backup_) {
    const Error refused = refusal();
    lock.unlock();
    return done(tl::unexpected(refused));
  }
  opens_ = true;
  began_ = clock_.now();
  std::thread ended = std::move(thread_);  // the thread of an earlier backup
  thread_ = std::thread([this, caller, done = std::move(done)] { run(caller, done); });
  lock.unlock();
  changed_.notify_all();
  if (ended.joinable()) ended.join();
}

void Backups::run(const CallerMark& caller, const Done& done) {
  name_thread("backup");
  run_behind_others(kBackgroundNiceness);
  Result<Json> opened = open(caller);
  std::string id = opened ? opened->at("id").get<std::string>() : std::string();
  if (opened) {
    spdlog::info("a backup of commit {} begins", opened->at("commit").get<uint64_t>());
  } else {
    spdlog::warn("a backup could not begin: {}", opened.error().message);
  }
  done(std::move(opened));
  if (!id.empty()) wait_for_end(id);
}

/// Checks the pages and takes the snapshot. Afterwards backup_ has the backup, unless it failed.
Result<Json> Backups::open(const CallerMark& caller) {
  const auto make = [&]() -> Result<std::pair<Backup, BackupHead>> {
    const auto goes_on = [&] { return check_wanted(caller).has_value(); };
    const PageReport pages = TRY(environment_.check_pages({.most_damages = 1, .goes_on = goes_on}));
    TRY(check_wanted(caller));
    if (pages.count > 0) {
      return fail("store.corrupt",
                  fmt::format("data.mdb is damaged: {}; `millrace verify` lists all damages; "
                              "restore the last backup that passes `millrace verify`",
                              to_string(pages.damages.front())));
    }
    Snapshot view = TRY(Snapshot::take(environment_));
    BackupHead head = TRY(make_backup_head(environment_, view, clock_.now(), release_));
    Backup backup{.id = random_backup_id(),
                  .view = std::make_unique<Snapshot>(std::move(view)),
                  .caller = caller};
    return std::pair(std::move(backup), std::move(head));
  };
  auto made = make();
  const std::lock_guard lock(mutex_);
  opens_ = false;
  if (!made) return tl::unexpected(std::move(made).error());
  backup_ = std::move(made->first);
  backup_->asked_at = clock_.elapsed();
  Json answer = encode(made->second);
  answer["id"] = backup_->id;
  answer["aboutRows"] = about_rows_of(*backup_->view);
  return answer;
}

/// Whether a backup that begins is still of use. Errors: `stopping`, `backup.abandoned`.
Status Backups::check_wanted(const CallerMark& caller) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return fail("stopping", "millrace is stopping");
  if (caller.expired()) {
    return fail("backup.abandoned", "its caller closed the connection before the backup began");
  }
  return {};
}

/// Returns when that backup has ended. Ends the backup if it is idle.
void Backups::wait_for_end(const std::string& id) {
  std::unique_lock lock(mutex_);
  while (backup_ && backup_->id == id) {
    if (stopping_) {
      backup_.reset();
      return;
    }
    changed_.wait_for(lock, backup_->asked_at + kBackupIdle - clock_.elapsed());
    end_if_idle();
  }
}

/// Ends the backup if it is idle. The caller must hold the mutex.
void Backups::end_if_idle() {
  if (!backup_ || clock_.elapsed() < backup_->asked_at + kBackupIdle) return;
  spdlog::warn("a backup was ended, because no chunk of it was asked for in {} s",
               kBackupIdle.count() / 1000);
  backup_.reset();
  changed_.notify_all();
}

/// Ends the backup if its caller has closed the connection and has not connected again in time. The
/// caller of this function must hold the mutex.
void Backups::end_if_abandoned() {
  if (!backup_ || !backup_->caller.expired()) return;
  if (clock_.elapsed() < backup_->asked_at + kBackupAbandoned) return;
  spdlog::warn("a backup was ended, because its caller closed the connection");
  backup_.reset();
  changed_.notify_all();
}

/// The error of a second backup. The caller must hold the mutex.
Error Backups::refusal() const {
  const std::string began = format_rfc3339(began_);
  if (!backup_) {
    return {"busy", fmt::format("a backup is running: it began at {}, and the server checks the "
                                "pages of its store first; try again when it has ended",
                                began)};
  }
  const bool is_abandoned = backup_->caller.expired();
  const Duration left =
      backup_->asked_at + (is_abandoned ? kBackupAbandoned : kBackupIdle) - clock_.elapsed();
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(left).count();
  const std::string when =
      is_abandoned
          ? fmt::format("its caller has closed the connection, so try again in {} s", seconds)
          : fmt::format("try again when it has ended (in {} s, if no chunk is asked for)", seconds);
  return {std::string(is_abandoned ? kBackupEnding : "busy"),
          fmt::format("a backup is running: {} of commit {}, which began at {}; {}, or end it by "
                      "`DELETE /v1/backups/{}`",
                      backup_->id, backup_->view->commit(), began, when, backup_->id)};
}

/// Error `backup.not_found`, if there is no backup with that id. The caller must hold the mutex.
Status Backups::check_id(std::string_view id) {
  end_if_idle();
  if (backup_ && backup_->id == id) return {};
  return fail("backup.not_found",
              fmt::format("there is no backup with this id: a backup ends when it is deleted, when "
                          "no chunk of it is asked for in {} s, and when the server stops; begin "
                          "another one",
                          kBackupIdle.count() / 1000));
}

Result<std::optional<std::string>> Backups::chunk(std::string_view id, uint64_t number,
                                                  const CallerMark& caller) {
  const std::lock_guard lock(mutex_);
  TRY(check_id(id));
  Backup& backup = *backup_;
  backup.asked_at = clock_.elapsed();
  backup.caller = caller;
  if (number == 0 || (number != backup.given && number != backup.given + 1)) {
    return fail(
        "backup.chunk",
        fmt::format("chunk {} cannot be given; ask for chunk {}, the next one, or again for "
                    "the one before it",
                    number, backup.given + 1));
  }
  if (number == backup.given) return backup.last.bytes;
  BackupChunk next = TRY(read_chunk(*backup.view, backup.last.last_key));
  if (next.bytes.empty()) return std::nullopt;
  backup.last = std::move(next);
  backup.given = number;
  return backup.last.bytes;
}

Result<Json> Backups::end(std::string_view id) {
  const std::lock_guard lock(mutex_);
  TRY(check_id(id));
  backup_.reset();
  changed_.notify_all();
  spdlog::info("a backup has ended");
  return Json{{"id", id}, {"ended", true}};
}

}  // namespace millrace
