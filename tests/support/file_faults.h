// FileFaults: a disk that fails as a test wants. An executable that links this defines the file
// calls by which journal and LMDB write (pwrite, writev, fdatasync), fallocate and statvfs itself,
// so that the linkers give them these instead of libc's. They do the same, but those of a store's
// data files are counted, pass the crash points within a commit, and fail when they are asked to:
// by arm(), or in a process of its own by MILLRACE_FILES=fault:nth in the environment. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace millrace {

enum class FileFault : uint8_t {
  kFull,   ///< `full`: from the nth write of pages on the files cannot grow (ENOSPC)
  kShort,  ///< `short`: the same, but the first write that does not fit is cut short
  kNone,   ///< `none`: from the nth write of pages on none succeeds (ENOSPC)
  kError,  ///< `error`: the nth write of pages fails (EIO)
  kSync,   ///< `sync`: the nth sync of pages fails (EIO)
  kRoot,   ///< `root`: the nth write of a root, which is synced in itself, fails (EIO)
};

/// Is told of what went well. Any thread.
class FileWatcher {
 public:
  virtual ~FileWatcher() = default;
  virtual void wrote(const std::filesystem::path& path, uint64_t at, std::string_view bytes,
                     bool is_synced) = 0;
  virtual void synced(const std::filesystem::path& path) = 0;
};

class FileFaults {
 public:
  /// What the store's files have seen since the last arm().
  struct Counts {
    uint64_t writes = 0;  ///< of the journal, and of pages, those that lie side by side in one call
    uint64_t syncs = 0;
    uint64_t roots = 0;  ///< of LMDB
  };

  /// Counts anew; `nth` is counted from 1.
  static void arm(FileFault fault, uint64_t nth);

  /// Gives back the room, or mends what else is broken.
  static void disarm();

  static Counts counts();

  /// nullptr: nobody.
  static void watch(FileWatcher* watcher);

  /// Whether anything was made to fail since the last arm().
  static bool has_struck();
};

}  // namespace millrace
