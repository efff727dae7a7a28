// Journal: where a commit reaches the disk: its write-set, appended to a file and synced. Two
// files, `journal-0` and `journal-1`, are used in turn: while one is written, what the other holds
// goes into LMDB, and then its place is free again. One thread.
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
  /// Gets a commit that LMDB has not; `first` is the first commit of the file that it is in.
  using Replay = std::function<Status(uint64_t first, uint64_t commit, std::string_view write_set)>;

  /// Opens the files in `folder`, or makes them, and shows what commits they hold behind
  /// `checkpointed` (LmdbFile), in order. A last one that is not whole was never promised to
  /// anybody and is left out; what is there is on disk when this returns. `reserve_bytes` are kept
  /// for commits that pass the limit. Errors: `store.corrupt` (a file is missing, or damaged in
  /// front of what can be read), `store.version`, `store.io`, `store.full`, Replay's.
  static Result<std::unique_ptr<Journal>> open(const std::filesystem::path& folder,
                                               std::optional<uint64_t> checkpointed,
                                               uint64_t reserve_bytes, const Replay& replay);

  /// Shows the same without writing anything, for a store that is only read. Returns the number of
  /// the last commit. Errors: as those of open(), but for `store.full`.
  static Result<uint64_t> read(const std::filesystem::path& folder,
                               std::optional<uint64_t> checkpointed, const Replay& replay);

  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// The number of the last commit, 0 before the first.
  uint64_t last() const { return last_; }

  /// Brings the next commit to disk. Errors: `store.full`, it is as if never asked; `store.sync`,
  /// nobody knows what is on disk.
  Status append(const WriteSet& writes, Limit limit);

  /// Goes on in the other file, whose commits must be in LMDB. Errors as above.
  Status turn();

 private:
  /// Of records: a file that begins anew need not be cleared, and no value that a user stores can
  /// be taken for a record.
  using Key = std::array<uint8_t, 16>;

  struct File {
    std::filesystem::path path;
    Descriptor descriptor;
    uint64_t size = 0;     ///< all of it was written once
    uint64_t kept_to = 0;  ///< so far the disk has room for it
    uint64_t first = 0;    ///< its first commit; 0: it has none
    Key key{};
  };
  struct Found;

  Journal(const std::filesystem::path& folder, uint64_t reserve_bytes);

  Status open_file(File& file);
  Status read_head(File& file);
  Status recover(std::optional<uint64_t> checkpointed, const Replay& replay);
  /// Finds the current file and shows the commits; nullopt: the store is new, there is none.
  Result<std::optional<Found>> find(std::optional<uint64_t> checkpointed, const Replay& replay);
  Result<Found> read(const File& file, const Replay& replay) const;
  Status begin(File& file, uint64_t first);
  Status make_room(File& file, uint64_t bytes);
  Status write(File& file, std::string_view bytes, uint64_t at);
  Status sync(const File& file);
  void encode(uint64_t commit, const WriteSet& writes);

  uint64_t reserve_bytes_;
  std::array<File, 2> files_;
  size_t current_ = 0;
  uint64_t tail_ = 0;  ///< of the current file: where the next record goes
  uint64_t last_ = 0;
  Status state_;  ///< the first `store.sync`, after which nothing is written any more
  std::string record_;
};

}  // namespace millrace
