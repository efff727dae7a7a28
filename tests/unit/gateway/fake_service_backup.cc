// The backups of the fake service.
#include <utility>

#include "tests/unit/gateway/fake_service.h"

namespace millrace {

Json FakeService::backup_head() {
  return {
      {"version", 1},
      {"store", std::string(32, 'a')},
      {"format", 6},
      {"commit", 42},
      {"cursor", {{"streamCreated", 7}, {"sequence", 3}, {"stamped", "2021-09-01T12:00:00.000Z"}}},
      {"time", "2021-09-01T12:00:00.000Z"},
      {"millrace", "test"}};
}

void FakeService::begin_backup(const CallerMark& caller, Done done) {
  const std::lock_guard lock(mutex_);
  backup_caller_ = caller;
  Result<Json> answer = backup_head();
  if (std::exchange(has_backup_, true)) {
    answer = fail("busy", "a backup is running");
  } else {
    (*answer)["id"] = "backup-1";
    (*answer)["aboutRows"] = 2;
  }
  answer_later([done = std::move(done), answer] { done(answer); });
}

Result<std::optional<std::string>> FakeService::backup_chunk(std::string_view id, uint64_t number,
                                                             const CallerMark& caller) {
  const std::lock_guard lock(mutex_);
  backup_caller_ = caller;
  if (!has_backup_ || id != "backup-1") return fail("backup.not_found", "there is no backup");
  if (number > backup_chunks.size() + 1) return fail("backup.chunk", "another chunk is the next");
  if (number == backup_chunks.size() + 1) return std::nullopt;
  return backup_chunks[number - 1];
}

Result<Json> FakeService::end_backup(std::string_view id) {
  const std::lock_guard lock(mutex_);
  if (!has_backup_ || id != "backup-1") return fail("backup.not_found", "there is no backup");
  has_backup_ = false;
  return Json{{"id", id}, {"ended", true}};
}

CallerMark FakeService::backup_caller() {
  const std::lock_guard lock(mutex_);
  return backup_caller_;
}

bool FakeService::has_backup() {
  const std::lock_guard lock(mutex_);
  return has_backup_;
}

}  // namespace millrace
