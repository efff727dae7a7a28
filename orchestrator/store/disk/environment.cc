#include "orchestrator/store/disk/environment.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/check.h"
#include "orchestrator/store/disk/folder_access.h"
#include "orchestrator/store/disk/journal.h"
#include "orchestrator/store/disk/page_check.h"
#include "orchestrator/store/disk/store_error.h"
#include "orchestrator/store/disk/store_files.h"
#include "os/file_access.h"

namespace millrace {
namespace {

/// A text about the process that holds the lock, from the process id in the lock file: " by process
/// 123"; empty if the file has no process id.
std::string holder_of(int lock_file) {
  char pid[16];
  const ssize_t size = ::pread(lock_file, pid, sizeof pid, 0);
  if (size <= 0) return {};
  return " by process " + std::string(pid, static_cast<size_t>(size));
}

bool has_data(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "data.mdb";
  std::error_code ignored;
  return std::filesystem::is_regular_file(file, ignored) &&
         std::filesystem::file_size(file, ignored) > 0;
}

bool has_birth_time(const struct statx& file) { return (file.stx_mask & STATX_BTIME) != 0; }

/// Checks a folder without data.mdb. Error `store.corrupt`: a journal has commits after a
/// checkpoint, so the folder must have had a data.mdb.
Status refuse_lost_data(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) return {};
  TRY(Journal::read(folder, std::nullopt, [](auto, auto, auto) { return Status(); }));
  return {};
}

}  // namespace

Environment::Environment(std::filesystem::path folder, const EnvironmentOptions& options)
    : folder_(std::move(folder)), options_(options) {}

Environment::~Environment() {
  CHECK(
      !has_writer_,
      "a Transaction of {} still exists; expected it to end before the environment of this folder",
      folder_.string());
  if (overlay_ != nullptr && options_.checkpoints_at_close && !options_.read_only) {
    const Status done = overlay_->checkpoint();
    if (!done)
      spdlog::warn(
          "the last checkpoint failed, so the next start on this folder reads the journal: {}",
          done.error().message);
  }
  overlay_.reset();
  file_.reset();
}

Result<std::unique_ptr<Environment>> Environment::open(const std::filesystem::path& folder,
                                                       const EnvironmentOptions& options) {
  std::unique_ptr<Environment> environment(new Environment(folder, options));
  TRY(refuse_links(folder));
  TRY(environment->read_named_key());
  TRY(options.read_only ? environment->find_store() : environment->make_folder());
  TRY(environment->lock());
  TRY(refuse_half_cleared(folder));
  TRY(environment->open_store());
  TRY(environment->open_own_key());
  return environment;
}

Error Environment::error(int failed, std::string_view operation) const {
  return store_error(failed, operation, folder_);
}

/// Reads the key that the options name. This comes before the folder is created, because a refused
/// start must write nothing. A key in the data folder is one of the exposed_files() instead.
Status Environment::read_named_key() {
  if (options_.key_file.empty()) return {};
  seal_ = TRY(Seal::read(options_.key_file));
  const auto exposure = options_.read_only ? std::nullopt : exposure_of(options_.key_file);
  if (exposure) spdlog::warn("secret key: {}", *exposure);
  return {};
}

Status Environment::make_folder() {
  std::error_code failed;
  folder_ = std::filesystem::absolute(folder_, failed).lexically_normal();
  if (!folder_.has_filename()) folder_ = folder_.parent_path();
  if (!failed) std::filesystem::create_directories(folder_.parent_path(), failed);
  if (failed) return tl::unexpected(error(failed.value(), "creating the data folder"));
  if (::mkdir(folder_.c_str(), 0700) != 0) {
    if (errno == EEXIST) return refuse_shared_folder(folder_);
    return tl::unexpected(error(errno, "creating the data folder"));
  }
  return sync_folder(folder_.parent_path());
}

/// Checks, for a read-only open, that the folder has a store.
Status Environment::find_store() {
  if (has_data(folder_)) return {};
  TRY(refuse_half_cleared(folder_));
  // A process that died while it created the store leaves an empty data.mdb. If a journal shows
  // that the store had commits, data.mdb was lost.
  TRY(refuse_lost_data(folder_));
  return fail("store.not_found",
              fmt::format("{} is not a data folder of millrace: its file data.mdb is missing or "
                          "empty; name the folder that `serve --data` uses",
                          folder_.string()));
}

Status Environment::lock() {
  const std::filesystem::path path = folder_ / "lock";
  const int create = options_.read_only ? 0 : O_CREAT;
  lock_file_ = Descriptor(::open(path.c_str(), O_RDWR | create | O_NOFOLLOW | O_CLOEXEC, 0600));
  // A copy of a data folder may have no file `lock`. In that case no process has the copy open.
  if (!lock_file_ && options_.read_only && errno == ENOENT) return {};
  if (!lock_file_) return tl::unexpected(error(errno, "opening the lock"));
  if (::flock(lock_file_.fd(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return tl::unexpected(error(errno, "locking"));
    return fail("store.locked",
                fmt::format("{} is in use{}; stop that process or name another data folder",
                            folder_.string(), holder_of(lock_file_.fd())));
  }
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(lock_file_.fd(), 0) != 0 ||
      ::pwrite(lock_file_.fd(), pid.data(), pid.size(), 0) < 0) {
    return tl::unexpected(error(errno, "writing the lock"));
  }
  return {};
}

Result<std::string> Environment::mark() const {
  struct statx found {};
  if (::statx(lock_file_.fd(), "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &found) != 0) {
    return tl::unexpected(error(errno, "reading the status of the lock"));
  }
  const bool has_time = has_birth_time(found);
  return fmt::format("{}-{}.{}", found.stx_ino, has_time ? found.stx_btime.tv_sec : 0,
                     has_time ? found.stx_btime.tv_nsec : 0);
}

std::optional<TimePoint> Environment::made() const {
  struct statx found {};
  if (::statx(lock_file_.fd(), "", AT_EMPTY_PATH, STATX_BTIME, &found) != 0) return std::nullopt;
  if (!has_birth_time(found)) return std::nullopt;
  return from_millis(found.stx_btime.tv_sec * 1'000 + found.stx_btime.tv_nsec / 1'000'000);
}

Status Environment::open_store() {
  // refuse_lost_data() comes before LMDB creates data.mdb, because a refused start must write
  // nothing.
  if (!options_.read_only && !has_data(folder_)) TRY(refuse_lost_data(folder_));
  file_ = TRY(options_.read_only ? LmdbFile::open_to_read(folder_, options_.map_bytes)
                                 : LmdbFile::open(folder_, options_.map_bytes));
  const OverlayOptions overlay{.checkpoint_bytes = std::max<uint64_t>(options_.checkpoint_bytes, 1),
                               .soft_limit_bytes = options_.soft_limit_bytes,
                               .reserve_bytes = options_.reserve_bytes,
                               .waits_for_checkpoints = options_.waits_for_checkpoints,
                               .checkpoint_clock = options_.checkpoint_clock,
                               .on_failure = options_.on_failure};
  overlay_ = TRY(options_.read_only ? Overlay::open_to_read(folder_, *file_, overlay)
                                    : Overlay::open(folder_, *file_, overlay));
  if (options_.read_only) return {};
  for (const std::string& one : exposed_files(folder_)) spdlog::warn("{}", one);
  return sync_folder(folder_);
}

/// Reads the key in the data folder, or makes one, unless the options name a key.
Status Environment::open_own_key() {
  if (seal_) return {};
  options_.key_file = folder_ / "secret-key";
  std::error_code ignored;
  key_is_new_ = !std::filesystem::exists(options_.key_file, ignored);
  if (key_is_new_) {
    seal_ = Seal::make();
  } else {
    seal_ = TRY(Seal::read(options_.key_file));
  }
  return {};
}

Status Environment::keep_key() {
  if (!key_is_new_) return {};
  TRY(seal_->write(options_.key_file));
  key_is_new_ = false;
  spdlog::warn(
      "generated the secret key {}: anyone who can read the data folder can read the secrets; use "
      "--secret-key-file to keep the key elsewhere",
      options_.key_file.string());
  return {};
}

Status Environment::sync_folder(const std::filesystem::path& path) const {
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || ::fsync(opened.fd()) != 0) {
    return tl::unexpected(error(errno, "syncing the data folder"));
  }
  return {};
}

Result<PageReport> Environment::check_pages(const PageCheckOptions& options) const {
  return file_->check_pages(options);
}

Status Environment::checkpoint() { return overlay_->checkpoint(); }

uint64_t Environment::used_bytes() const { return overlay_->used_bytes(); }

Result<StoreSize> Environment::size() const {
  const auto bytes_of = [this](const char* name) -> Result<uint64_t> {
    std::error_code failed;
    const uint64_t bytes = std::filesystem::file_size(folder_ / name, failed);
    if (!failed) return bytes;
    if (failed == std::errc::no_such_file_or_directory) return uint64_t{0};
    return tl::unexpected(error(failed.value(), "measuring the files"));
  };
  const LmdbFile::Size pages = overlay_->file_size();
  StoreSize size{.used_bytes = pages.used_bytes,
                 .free_bytes = pages.free_bytes,
                 .waiting_rows = overlay_->waiting_rows(),
                 .waiting_bytes = overlay_->waiting_bytes()};
  size.data_bytes = TRY(bytes_of("data.mdb"));
  for (const char* const name : {"journal-0", "journal-1"}) {
    size.journal_bytes += TRY(bytes_of(name));
  }
  return size;
}

std::optional<uint64_t> Environment::checkpoint_rate() const { return overlay_->checkpoint_rate(); }

bool Environment::is_behind() const { return overlay_->is_behind(); }

CommitWaits Environment::commit_waits() const { return overlay_->commit_waits(); }

Status Environment::shrink_journals() { return overlay_->shrink_journals(); }

Status Environment::check_room(uint64_t reserve) {
  const auto check = [&](uint64_t left, uint64_t whole, std::string_view what) -> Status {
    if (left > std::min(reserve, whole / 8)) return {};
    return fail("store.full", fmt::format("only {} bytes are left {} of {}{}", left, what,
                                          folder_.string(), advice_for("store.full")));
  };
  const auto check_limit = [&] {
    const uint64_t most = std::min(options_.soft_limit_bytes, file_->map_bytes());
    return check(most - std::min(most, used_bytes()), most, "to the limit");
  };
  if (!check_limit()) {
    TRY(checkpoint());
    TRY(check_limit());
  }
  struct statvfs disk {};
  if (::statvfs(folder_.c_str(), &disk) != 0) {
    return tl::unexpected(error(errno, "reading the free space"));
  }
  return check(disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize, "on the disk");
}

}  // namespace millrace
