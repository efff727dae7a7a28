// FileFaults: a disk that fails on request. A program that links this replaces the file calls of
// the journal and of LMDB (pwrite, writev, fdatasync), fallocate and statvfs of libc. The
// replacements do the same. Calls on the data files of a store are also counted, pass the crash
// points within a commit, and fail on request: by arm(), or in a process of its own by
// MILLRACE_FILES=fault:nth in the environment. Any thread.
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

/// Gets the successful writes and syncs. Any thread.
class FileWatcher {
 public:
  virtual ~FileWatcher() = default;
  virtual void wrote(const std::filesystem::path& path, uint64_t at, std::string_view bytes,
                     bool is_synced) = 0;
  virtual void synced(const std::filesystem::path& path) = 0;
};

class FileFaults {
 public:
  /// The calls on the files of the store since the last arm().
  struct Counts {
    uint64_t writes = 0;  ///< of the journal, and of pages: adjacent pages are one call
    uint64_t syncs = 0;
    uint64_t roots = 0;  ///< of LMDB
  };

  /// Resets the counts. `nth` is counted from 1.
  static void arm(FileFault fault, uint64_t nth);

  /// Ends the fault.
  static void disarm();

  static Counts counts();

  /// Sets the watcher; nullptr removes it.
  static void watch(FileWatcher* watcher);

  /// Whether a call has failed since the last arm().
  static bool has_struck();
};

}  // namespace millrace
