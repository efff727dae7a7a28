#include "orchestrator/store/environment.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <lmdb.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/check.h"

namespace millrace {
namespace {

constexpr uint64_t kLeastMapBytes = uint64_t{1} << 30;
constexpr unsigned kMaxReaders = 512;

const char* code_of(int error) {
  switch (error) {
    case MDB_MAP_FULL:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "store.full";
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case MDB_PAGE_FULL:
    case MDB_CURSOR_FULL:
      return "store.corrupt";
    case MDB_VERSION_MISMATCH:
      return "store.version";
    case MDB_READERS_FULL:
      return "store.readers";
    case MDB_PANIC:
      return "store.sync";
    default:
      return "store.io";
  }
}

const char* advice_for(std::string_view code) {
  if (code == "store.full") return "; free space or raise the limit";
  if (code == "store.corrupt") return "; restore the folder from a backup";
  if (code == "store.version") return "; open it with the version that wrote it";
  if (code == "store.readers") return "; too many reads at a time";
  if (code == "store.sync") return "; what reached the disk is not known, stop and start again";
  return "";
}

/// Who wrote itself into the lock file: " by process 123", or nothing.
std::string holder_of(int lock_file) {
  char pid[16];
  const ssize_t size = ::pread(lock_file, pid, sizeof pid, 0);
  if (size <= 0) return {};
  return " by process " + std::string(pid, static_cast<size_t>(size));
}

}  // namespace

void AbortTxn::operator()(MDB_txn* txn) const { mdb_txn_abort(txn); }

const char* table_name(Table table) {
  for (const TableName& entry : kTables) {
    if (entry.table == table) return entry.name;
  }
  CHECK(false, "no table '{}'", static_cast<char>(table));
}

Environment::Environment(std::filesystem::path folder, const EnvironmentOptions& options)
    : folder_(std::move(folder)), options_(options) {}

Environment::~Environment() {
  CHECK(!has_writer_, "a Transaction outlives {}", folder_.string());
  if (handle_ != nullptr) mdb_env_close(handle_);
  if (lock_file_ >= 0) ::close(lock_file_);
}

Result<std::unique_ptr<Environment>> Environment::open(const std::filesystem::path& folder,
                                                       const EnvironmentOptions& options) {
  std::unique_ptr<Environment> environment(new Environment(folder, options));
  for (const auto step :
       {&Environment::make_folder, &Environment::lock, &Environment::open_map,
        &Environment::fill_to_length, &Environment::open_tables, &Environment::open_key}) {
    if (Status done = (environment.get()->*step)(); !done) return tl::unexpected(done.error());
  }
  return environment;
}

Error Environment::error(int failed, std::string_view operation) const {
  return error(failed, operation, code_of(failed));
}

Error Environment::error(int failed, std::string_view operation, const char* code) const {
  return {code, fmt::format("{} in {}: {}{}", operation, folder_.string(), mdb_strerror(failed),
                            advice_for(code))};
}

Status Environment::make_folder() {
  std::error_code failed;
  folder_ = std::filesystem::absolute(folder_, failed).lexically_normal();
  if (!folder_.has_filename()) folder_ = folder_.parent_path();
  if (!failed) std::filesystem::create_directories(folder_.parent_path(), failed);
  if (failed) return tl::unexpected(error(failed.value(), "making the data folder"));
  if (::mkdir(folder_.c_str(), 0700) != 0) {
    if (errno == EEXIST) return {};
    return tl::unexpected(error(errno, "making the data folder"));
  }
  return sync_folder(folder_.parent_path());
}

Status Environment::lock() {
  const std::filesystem::path path = folder_ / "lock";
  lock_file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_file_ < 0) return tl::unexpected(error(errno, "opening the lock"));
  if (::flock(lock_file_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return tl::unexpected(error(errno, "locking"));
    return fail("store.locked",
                fmt::format("{} is in use{}; stop that one or name another data folder",
                            folder_.string(), holder_of(lock_file_)));
  }
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(lock_file_, 0) != 0 || ::pwrite(lock_file_, pid.data(), pid.size(), 0) < 0) {
    return tl::unexpected(error(errno, "writing the lock"));
  }
  return {};
}

Status Environment::open_map() {
  // Transactions belong to their object, not to a thread (NOTLS). Neither NOSYNC in any form nor
  // WRITEMAP: the first loses the file at a power cut, the second lets a stray write into it.
  for (uint64_t bytes = options_.map_bytes;; bytes /= 4) {
    int failed = mdb_env_create(&handle_);
    if (failed != 0) return tl::unexpected(error(failed, "opening"));
    mdb_env_set_maxdbs(handle_, kTables.size());
    mdb_env_set_maxreaders(handle_, kMaxReaders);
    mdb_env_set_mapsize(handle_, bytes);
    failed = mdb_env_open(handle_, folder_.c_str(), MDB_NOTLS, 0600);
    if (failed == 0) return {};
    mdb_env_close(handle_);
    handle_ = nullptr;
    if (failed != ENOMEM || bytes / 4 < kLeastMapBytes) {
      return tl::unexpected(error(failed, "opening"));
    }
  }
}

Status Environment::fill_to_length() {
  // Touching the map past the end of a file that was cut short raises SIGBUS. Made whole with
  // zeros, the pages that are missing read as damage instead.
  MDB_envinfo info;
  MDB_stat stat;
  mdb_env_info(handle_, &info);
  mdb_env_stat(handle_, &stat);
  int file = -1;
  mdb_env_get_fd(handle_, &file);
  struct stat found {};
  if (::fstat(file, &found) != 0) return tl::unexpected(error(errno, "opening"));
  const off_t wanted = static_cast<off_t>((info.me_last_pgno + 1) * stat.ms_psize);
  if (found.st_size < wanted && ::ftruncate(file, wanted) != 0) {
    return tl::unexpected(error(errno, "opening"));
  }
  return {};
}

Status Environment::open_tables() {
  TxnHandle txn = TRY(begin(0));
  for (const TableName& entry : kTables) {
    MDB_dbi tree = 0;
    const int failed = mdb_dbi_open(txn.get(), entry.name, MDB_CREATE, &tree);
    if (failed != 0) return tl::unexpected(error(failed, "opening the tables"));
    trees_[static_cast<uint8_t>(entry.table)] = tree;
  }
  const int failed = mdb_txn_commit(txn.release());
  if (failed != 0) return tl::unexpected(error(failed, "making the tables"));
  return sync_folder(folder_);
}

Status Environment::open_key() {
  const bool is_own = options_.key_file.empty();
  if (is_own) options_.key_file = folder_ / "secret-key";
  std::error_code ignored;
  key_is_new_ = is_own && !std::filesystem::exists(options_.key_file, ignored);
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
      "a key for secrets was made, {}: whoever can read the folder can read them; give one that "
      "lies elsewhere by --secret-key-file",
      options_.key_file.string());
  return {};
}

Status Environment::sync_folder(const std::filesystem::path& path) const {
  const int opened = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return tl::unexpected(error(errno, "syncing the data folder"));
  const int failed = ::fsync(opened) == 0 ? 0 : errno;
  ::close(opened);
  if (failed != 0) return tl::unexpected(error(failed, "syncing the data folder"));
  return {};
}

Result<TxnHandle> Environment::begin(unsigned flags) const {
  MDB_txn* txn = nullptr;
  const int failed = mdb_txn_begin(handle_, nullptr, flags, &txn);
  if (failed != 0) return tl::unexpected(error(failed, "beginning a transaction"));
  return TxnHandle(txn);
}

Result<uint64_t> Environment::bytes_in(MDB_txn* txn) const {
  uint64_t bytes = 0;
  for (const TableName& entry : kTables) {
    MDB_stat stat;
    const int failed = mdb_stat(txn, tree(entry.table), &stat);
    if (failed != 0) return tl::unexpected(error(failed, "measuring"));
    bytes += (stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages) * stat.ms_psize;
  }
  return bytes;
}

uint64_t Environment::most_bytes() const {
  MDB_envinfo info;
  mdb_env_info(handle_, &info);
  return std::min(options_.soft_limit_bytes,
                  info.me_mapsize - std::min(info.me_mapsize, options_.reserve_bytes));
}

Status Environment::keep_reserve() {
  MDB_envinfo info;
  MDB_stat stat;
  mdb_env_info(handle_, &info);
  mdb_env_stat(handle_, &stat);
  const uint64_t end = (info.me_last_pgno + 1) * stat.ms_psize;
  if (end + options_.reserve_bytes <= reserved_to_) return {};
  // Twice as much, so that it is seldom done. A file system that cannot do it has no reserve.
  int file = -1;
  mdb_env_get_fd(handle_, &file);
  const uint64_t bytes = 2 * options_.reserve_bytes;
  if (::fallocate(file, 0, static_cast<off_t>(end), static_cast<off_t>(bytes)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
    return tl::unexpected(error(errno, "reserving room"));
  }
  reserved_to_ = end + bytes;
  return {};
}

Result<uint64_t> Environment::used_bytes() const {
  const TxnHandle txn = TRY(begin(MDB_RDONLY));
  return bytes_in(txn.get());
}

Status Environment::check_room(uint64_t reserve) const {
  const auto check = [&](uint64_t left, uint64_t whole, std::string_view what) -> Status {
    if (left > std::min(reserve, whole / 8)) return {};
    return fail("store.full", fmt::format("{} bytes are left {} of {}{}", left, what,
                                          folder_.string(), advice_for("store.full")));
  };
  const uint64_t most = std::min(options_.soft_limit_bytes, options_.map_bytes);
  const uint64_t used = TRY(used_bytes());
  TRY(check(most - std::min(most, used), most, "to the limit"));
  struct statvfs disk {};
  if (::statvfs(folder_.c_str(), &disk) != 0) {
    return tl::unexpected(error(errno, "looking for room"));
  }
  return check(disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize, "on the disk");
}

}  // namespace millrace
