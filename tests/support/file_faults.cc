#include "tests/support/file_faults.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/check.h"
#include "os/crash_point.h"

namespace millrace {
namespace {

struct FaultName {
  FileFault fault;
  std::string_view name;
};

constexpr std::array<FaultName, 6> kFaults{{{FileFault::kFull, "full"},
                                            {FileFault::kShort, "short"},
                                            {FileFault::kNone, "none"},
                                            {FileFault::kError, "error"},
                                            {FileFault::kSync, "sync"},
                                            {FileFault::kRoot, "root"}}};

/// The fault that is armed, and the counts.
struct State {
  State() {
    const char* const text = std::getenv("MILLRACE_FILES");
    if (text == nullptr) return;
    const std::string_view plan(text);
    const size_t colon = plan.find(':');
    const std::string_view number =
        colon == plan.npos ? std::string_view() : plan.substr(colon + 1);
    for (const FaultName& known : kFaults) {
      if (known.name == plan.substr(0, colon)) fault = known.fault;
    }
    std::from_chars(number.data(), number.data() + number.size(), nth);
    CHECK(fault && nth > 0, "MILLRACE_FILES={} is not a fault and a number", plan);
  }

  std::mutex mutex;
  std::optional<FileFault> fault;
  uint64_t nth = 0;
  FileFaults::Counts seen;
  bool struck = false;
  std::atomic<FileWatcher*> watcher = nullptr;
};

State& state() {
  static State state;
  return state;
}

bool needs_room(FileFault fault) {
  return fault == FileFault::kFull || fault == FileFault::kShort || fault == FileFault::kNone;
}

std::string path_of(int fd) {
  std::array<char, 4096> path;
  const std::string link = fmt::format("/proc/self/fd/{}", fd);
  const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
  return {path.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

bool is_lmdb_file(int fd) { return path_of(fd).ends_with("/data.mdb"); }

bool is_store_file(int fd) {
  const std::string path = path_of(fd);
  return path.ends_with("/data.mdb") || path.ends_with("/journal-0") ||
         path.ends_with("/journal-1");
}

/// Whether LMDB uses the descriptor to write roots: that descriptor syncs each write.
bool is_for_roots(int fd) { return (::fcntl(fd, F_GETFL) & O_DSYNC) != 0; }

/// Up to which size the disk has space for the file; that size may be larger than the file.
off_t room_of(int fd) {
  constexpr off_t kBlock = 512;
  struct stat file {};
  return ::fstat(fd, &file) == 0 ? std::max(file.st_size, file.st_blocks * kBlock) : 0;
}

/// How a write ends: the number of bytes that may be written, or the error.
struct Verdict {
  size_t bytes = 0;
  int error = 0;
};

Verdict on_pages(int fd, off_t at, size_t size) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  ++now.seen.writes;
  const Verdict allowed{size, 0};
  if (!now.fault || now.seen.writes < now.nth) return allowed;
  if (*now.fault == FileFault::kError && now.seen.writes == now.nth) {
    now.struck = true;
    return {0, EIO};
  }
  if (!needs_room(*now.fault)) return allowed;
  const bool fits = at + static_cast<off_t>(size) <= room_of(fd);
  if (fits && *now.fault != FileFault::kNone) return allowed;
  const bool is_first = !std::exchange(now.struck, true);
  if (is_first && *now.fault == FileFault::kShort) return {size / 2, 0};
  return {0, ENOSPC};
}

int on_reserve(int fd, off_t end) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  const bool is_full = now.fault && needs_room(*now.fault) && now.seen.writes >= now.nth;
  if (!is_full || end <= room_of(fd)) return 0;
  now.struck = true;
  return ENOSPC;
}

int on_root() {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  ++now.seen.roots;
  if (now.fault != FileFault::kRoot || now.seen.roots != now.nth) return 0;
  now.struck = true;
  return EIO;
}

int on_sync() {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  ++now.seen.syncs;
  if (now.fault != FileFault::kSync || now.seen.syncs != now.nth) return 0;
  now.struck = true;
  return EIO;
}

bool is_full() {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  return now.struck && now.fault && needs_room(*now.fault);
}

int failed(int error) {
  errno = error;
  return -1;
}

void report_write(int fd, const void* bytes, ssize_t size, off_t at, bool is_synced) {
  FileWatcher* const watcher = state().watcher;
  if (watcher == nullptr || size <= 0) return;
  watcher->wrote(path_of(fd), static_cast<uint64_t>(at),
                 {static_cast<const char*>(bytes), static_cast<size_t>(size)}, is_synced);
}

void report_sync(int fd, int result) {
  FileWatcher* const watcher = state().watcher;
  if (watcher != nullptr && result == 0) watcher->synced(path_of(fd));
}

}  // namespace

void FileFaults::arm(FileFault fault, uint64_t nth) {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  now.fault = fault;
  now.nth = nth;
  now.seen = {};
  now.struck = false;
}

void FileFaults::disarm() {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  now.fault.reset();
}

void FileFaults::watch(FileWatcher* watcher) { state().watcher = watcher; }

FileFaults::Counts FileFaults::counts() {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  return now.seen;
}

bool FileFaults::has_struck() {
  State& now = state();
  const std::lock_guard lock(now.mutex);
  return now.struck;
}

}  // namespace millrace

// The replacements of libc's functions, declared as libc declares them.

extern "C" {

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
  using namespace millrace;
  const auto write = [&](size_t most) { return ::syscall(SYS_pwrite64, fd, bytes, most, at); };
  if (!is_store_file(fd)) return write(size);
  if (is_for_roots(fd)) {
    if (const int error = on_root(); error != 0) return failed(error);
    const ssize_t written = write(size);
    report_write(fd, bytes, written, at, true);
    crash_point(CrashPoint::kRootWritten);
    return written;
  }
  const Verdict verdict = on_pages(fd, at, size);
  if (verdict.error != 0) return failed(verdict.error);
  const ssize_t written = write(verdict.bytes);
  report_write(fd, bytes, written, at, false);
  return written;
}

ssize_t writev(int fd, const iovec* parts, int count) {
  using namespace millrace;
  const auto write = [&](int most) { return ::syscall(SYS_writev, fd, parts, most); };
  if (!is_store_file(fd)) return write(count);
  size_t size = 0;
  for (int i = 0; i < count; ++i) size += parts[i].iov_len;
  const off_t at = ::lseek(fd, 0, SEEK_CUR);
  const Verdict verdict = on_pages(fd, at, size);
  if (verdict.error != 0) return failed(verdict.error);
  const ssize_t written = write(verdict.bytes < size ? count / 2 : count);
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  }
  report_write(fd, bytes.data(), written, at, false);
  return written;
}

int fdatasync(int fd) {
  using namespace millrace;
  const auto sync = [&] { return static_cast<int>(::syscall(SYS_fdatasync, fd)); };
  if (!is_store_file(fd)) return sync();
  const bool is_checkpoint = is_lmdb_file(fd);
  if (is_checkpoint) crash_point(CrashPoint::kPagesWritten);
  if (const int error = on_sync(); error != 0) return failed(error);
  const int result = sync();
  report_sync(fd, result);
  if (is_checkpoint) crash_point(CrashPoint::kPagesSynced);
  return result;
}

int fallocate(int fd, int mode, off_t at, off_t size) {
  using namespace millrace;
  const int error = is_store_file(fd) ? on_reserve(fd, at + size) : 0;
  if (error != 0) return failed(error);
  return static_cast<int>(::syscall(SYS_fallocate, fd, mode, at, size));
}

int statvfs(const char* path, struct statvfs* disk) noexcept {
  using Real = int (*)(const char*, struct statvfs*);
  static const auto real = reinterpret_cast<Real>(::dlsym(RTLD_NEXT, "statvfs"));
  const int result = real(path, disk);
  if (millrace::is_full()) disk->f_bavail = 0;
  return result;
}

}  // extern "C"
