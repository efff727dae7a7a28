// Journal: the write-ahead log of the store. A commit is on disk once its write-set is appended to
// a journal file and synced. Two files, `journal-0` and `journal-1`, are used in turn. While
// commits are appended to one file, a checkpoint brings the commits of the other file into LMDB;
// then the other file can be overwritten. For use by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "orchestrator/store/disk/write_set.h"
#include "os/descriptor.h"

namespace millrace {

class Journal {
 public:
  /// Receives a commit that LMDB does not have. `first` is the first commit of its journal file.
  using Replay = std::function<Status(uint64_t first, uint64_t commit, std::string_view write_set)>;

  /// Opens or creates the files in `folder` and passes their commits after the commit
  /// `checkpointed` (see LmdbFile::checkpointed()) to `replay`, in order. An incomplete last commit
  /// was never reported as committed and is left out. All replayed commits are on disk when this
  /// returns. `reserve_bytes` of disk space are reserved for commits under Limit::kPassed. Errors:
  /// `store.corrupt` (a file is missing, or damaged before a commit that can be read),
  /// `store.version`, `store.io`, `store.full`, and those of `replay`.
  static Result<std::unique_ptr<Journal>> open(const std::filesystem::path& folder,
                                               std::optional<uint64_t> checkpointed,
                                               uint64_t reserve_bytes, const Replay& replay);

  /// Passes the commits after `checkpointed` to `replay` without any write, for a store that is
  /// open read-only. Returns the number of the last commit. Errors: those of open(), except
  /// `store.full`.
  static Result<uint64_t> read(const std::filesystem::path& folder,
                               std::optional<uint64_t> checkpointed, const Replay& replay);

  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// The number of the last commit; 0 if there is none yet.
  uint64_t last() const { return last_; }

  /// Encodes the next commit, and returns its encoded write-set, which is valid until the next call
  /// of a function other than reserve().
  std::string_view encode(const WriteSet& writes);

  /// Reserves the disk space of the encoded commit and of `further` bytes behind its write-set.
  /// Errors: `store.full`, the commits of the journal are unchanged; `store.sync`, the state of the
  /// disk is unknown.
  Status reserve(uint64_t further, Limit limit);

  /// Writes the encoded commit, for which reserve() succeeded, to disk. `further` has encoded
  /// writes that are added to its write-set. Errors: those of reserve().
  Status append(std::string_view further = {});

  /// Continues in the other file; the commits of that file must be in LMDB. If the disk has the
  /// space, that file gets the size of the current one. Errors: `store.full`, the journal is
  /// unchanged; `store.sync`, the state of the disk is unknown.
  Status switch_file();

  /// Frees the disk space behind the last commit of the current file, and that of all commits of
  /// the other file, which must be in LMDB. The next commits allocate space again. Errors:
  /// `store.io`, with all commits in place; `store.sync`, an earlier call failed with it.
  Status shrink();

 private:
  /// The key of the hashes of a file's records, new each time the file is reused. So the file need
  /// not be cleared, and no value that a user stores can be mistaken for a record.
  using Key = std::array<uint8_t, 16>;

  struct File {
    std::filesystem::path path;
    Descriptor descriptor;
    uint64_t size = 0;     ///< in bytes; every byte below it has been written
    uint64_t kept_to = 0;  ///< disk space is reserved up to this byte
    uint64_t first = 0;    ///< number of the file's first commit; 0: it has no commits
    Key key{};
  };
  struct Found;

  Journal(const std::filesystem::path& folder, uint64_t reserve_bytes);

  Status open_file(File& file);
  Status read_head(File& file);
  Status recover(std::optional<uint64_t> checkpointed, const Replay& replay);
  /// Finds the current file and replays the commits. nullopt: the store is new and has no file.
  Result<std::optional<Found>> find(std::optional<uint64_t> checkpointed, const Replay& replay);
  Result<Found> read(const File& file, const Replay& replay) const;
  Status begin(File& file, uint64_t first);
  Status extend(File& file, uint64_t size);
  Status make_room(File& file, uint64_t bytes);
  Status write(File& file, std::string_view bytes, uint64_t at);
  Status sync(const File& file);
  void complete_record();

  uint64_t reserve_bytes_;
  std::array<File, 2> files_;
  size_t current_ = 0;
  uint64_t tail_ = 0;  ///< where the next record goes in the current file
  uint64_t last_ = 0;
  Status state_;        ///< the first error `store.sync`; after it the journal writes nothing
  std::string record_;  ///< of the encoded commit
};

}  // namespace millrace
