// FileFaults: a disk that fails on request. In a program that links file_faults.cc, the functions
// of that source replace pwrite, writev, fdatasync, fallocate and statvfs of libc, which the
// journal and LMDB call. The replacements do what libc does. Calls for the data files of a store
// are also counted, pass the crash points within a commit, and fail on request: of arm(), or, in a
// child process, of MILLRACE_FILES=fault:nth in its environment. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace millrace {

enum class FileFault : uint8_t {
  kFull,   ///< `full`: from the nth write of pages on, the files cannot grow (ENOSPC)
  kShort,  ///< `short`: as kFull, and the first write that does not fit is cut short
  kNone,   ///< `none`: from the nth write of pages on, all writes fail (ENOSPC)
  kError,  ///< `error`: the nth write of pages fails (EIO)
  kSync,   ///< `sync`: the nth sync of pages fails (EIO)
  kRoot,   ///< `root`: the nth write of a root, which includes a sync, fails (EIO)
};

/// Receives the successful writes and syncs. Any thread.
class FileWatcher {
 public:
  virtual ~FileWatcher() = default;
  virtual void wrote(const std::filesystem::path& path, uint64_t at, std::string_view bytes,
                     bool is_synced) = 0;
  virtual void synced(const std::filesystem::path& path) = 0;
};

class FileFaults {
 public:
  /// The number of calls for the files of the store since the latest arm().
  struct Counts {
    uint64_t writes = 0;  ///< writes of the journal and of pages; adjacent pages are one write
    uint64_t syncs = 0;
    uint64_t roots = 0;  ///< writes of a root of LMDB
  };

  /// Resets the counts, and makes the `nth` call fail by `fault`. `nth` is counted from 1.
  static void arm(FileFault fault, uint64_t nth);

  /// Ends the fault.
  static void disarm();

  static Counts counts();

  /// Sets the watcher; nullptr removes it.
  static void watch(FileWatcher* watcher);

  /// Whether a call has failed since the latest arm().
  static bool has_struck();
};

}  // namespace millrace
