#include "orchestrator/size/compaction.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "orchestrator/size/row_copy.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/disk/lmdb_file.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/tables.h"
#include "orchestrator/store/transaction.h"
#include "os/descriptor.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

// The order of the steps. A kill after any step leaves a store with all rows:
//
// 1. A checkpoint brings every commit into data.mdb. Then one journal file begins with the commit
//    after the checkpoint, and has no commit; the other file is free. Both files are cut to their
//    headers.
// 2. The rows are copied into `compact/data.mdb`, with the same number under `checkpointed`. The
//    copy is synced and compared with the store. Nothing reads this folder when the store is
//    opened.
// 3. One rename replaces data.mdb by the copy. The journals are right for both files, because both
//    have the same `checkpointed`. So there is no moment at which data.mdb and the journals do not
//    belong together.
// 4. The folder is synced, so that the rename survives a power cut, and `compact` is removed.
//
// The folder is locked from before step 1 until after step 4, and no commit is made meanwhile. The
// copy is in the folder of the store, not beside it: that place is on the same file system even if
// the folder is a mount point, and the user of the server can write it.

constexpr const char* kDataFile = "data.mdb";

/// The copy may have this many bytes more than the pages of the rows: its meta pages, the trees
/// that have no rows of millrace, and the few free pages of its transactions.
constexpr uint64_t kCopyOverhead = uint64_t{1} << 20;

tl::unexpected<Error> cannot_write(const fs::path& path, int error) {
  const bool is_denied = error == EACCES || error == EPERM;
  return fail("compact.write",
              fmt::format("compacting: {}: {}{}", path.string(), std::strerror(error),
                          is_denied ? "; run the command as the user that runs the server" : ""));
}

Status sync_file(const fs::path& path) {
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened || ::fsync(opened.fd()) != 0) return cannot_write(path, errno);
  return {};
}

Status remove_copy(const fs::path& copy) {
  std::error_code failed;
  fs::remove_all(copy, failed);
  if (failed) return cannot_write(copy, failed.value());
  return {};
}

uint64_t bytes_of_files(const StoreSize& size) { return size.data_bytes + size.journal_bytes; }

/// Opens the store read-only, which checks every page of data.mdb, and checks its format and its
/// trees. Nothing is written, so a folder without a store stays as it is. Returns the size of the
/// store.
Result<StoreSize> inspect(const fs::path& folder) {
  const auto environment = TRY(Environment::open(folder, {.read_only = true}));
  const Snapshot view = TRY(Snapshot::take(*environment));
  TRY(check_known_numbers(view));
  TRY(environment->refuse_unknown_trees());
  return environment->size();
}

/// Checks that the disk has space for the copy beside the store.
Status check_space(const fs::path& folder, uint64_t used_bytes, uint64_t reserve_bytes) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) return cannot_write(folder, errno);
  const uint64_t free = uint64_t{disk.f_bavail} * disk.f_frsize;
  const uint64_t copy = used_bytes + kCopyOverhead;
  if (free >= copy && free - copy >= reserve_bytes) return {};
  return fail(
      std::string(kNoSpaceToCompact),
      fmt::format("the compact copy of {} may need {} bytes, and {} bytes of the disk must stay "
                  "free, but the disk has {} free bytes; free space on this disk, or make a backup "
                  "elsewhere (`millrace backup --data {}`) and restore it in place of the folder",
                  folder.string(), copy, reserve_bytes, free, folder.string()));
}

/// Gives the copy the owner, the group and the mode of data.mdb, so that the server can open the
/// copy if another user runs this command.
Status keep_owner(const fs::path& data, const fs::path& copy) {
  struct stat found {};
  struct stat made {};
  if (::stat(data.c_str(), &found) != 0) return cannot_write(data, errno);
  if (::stat(copy.c_str(), &made) != 0) return cannot_write(copy, errno);
  const bool is_owned = made.st_uid == found.st_uid && made.st_gid == found.st_gid;
  if (!is_owned && ::chown(copy.c_str(), found.st_uid, found.st_gid) != 0) {
    return cannot_write(copy, errno);
  }
  if (::chmod(copy.c_str(), found.st_mode & 07777) != 0) return cannot_write(copy, errno);
  return {};
}

/// Makes the copy in the folder `copy` and compares it with the store. Returns the number of rows.
Result<uint64_t> make_copy(const Environment& environment, const fs::path& copy,
                           const CompactSettings& settings) {
  std::error_code failed;
  fs::create_directory(copy, failed);
  if (failed) return cannot_write(copy, failed.value());
  const Snapshot view = TRY(Snapshot::take(environment));
  const uint64_t about = about_rows_of(view);
  uint64_t done = 0;
  const auto report = [&](uint64_t rows) {
    if (settings.progress) settings.progress(done + rows, 2 * about);
  };
  const auto file = TRY(LmdbFile::open(copy, environment.options().map_bytes));
  done = TRY(copy_rows(view, *file, report));
  TRY(check_copy(view, *file, report));
  return done;
}

/// Replaces data.mdb by the copy, and removes the folder of the copy.
Status replace_data(const fs::path& folder, const fs::path& copy) {
  TRY(keep_owner(folder / kDataFile, copy / kDataFile));
  TRY(sync_file(copy / kDataFile));
  if (std::rename((copy / kDataFile).c_str(), (folder / kDataFile).c_str()) != 0) {
    return cannot_write(folder / kDataFile, errno);
  }
  return sync_file(folder);
}

Result<Compacted> compact(const fs::path& folder, const CompactSettings& settings) {
  const auto step = [&] {
    if (settings.on_step) settings.on_step();
  };
  const fs::path copy = copy_folder(folder);
  const StoreSize before = TRY(inspect(folder));
  // The environment, and with it the lock, lives until the end. It writes nothing when it closes.
  const auto environment =
      TRY(Environment::open(folder, {.reserve_bytes = 0, .checkpoints_at_close = false}));
  TRY(remove_copy(copy));
  TRY(environment->shrink_journals());
  step();
  const StoreSize size = TRY(environment->size());
  TRY(check_space(folder, size.used_bytes, settings.reserve_bytes));
  Result<uint64_t> rows = make_copy(*environment, copy, settings);
  if (rows) step();
  const Status replaced = rows ? replace_data(folder, copy) : tl::unexpected(rows.error());
  if (replaced) step();
  const Status removed = remove_copy(copy);
  TRY(replaced);
  TRY(removed);
  step();
  const StoreSize after = TRY(environment->size());
  return Compacted{.folder = folder,
                   .rows = *rows,
                   .bytes_before = bytes_of_files(before),
                   .bytes_after = bytes_of_files(after)};
}

}  // namespace

fs::path copy_folder(const fs::path& folder) { return folder / "compact"; }

Result<Compacted> compact_store(const CompactSettings& settings) {
  // A missing folder keeps its name, and Environment::open() reports it.
  std::error_code missing;
  const fs::path real = fs::canonical(settings.folder, missing);
  return compact(missing ? settings.folder : real, settings);
}

}  // namespace millrace
