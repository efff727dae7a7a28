#include "orchestrator/backup/restore.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "orchestrator/backup/loader.h"
#include "orchestrator/backup/restored_file.h"
#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/rows/identity.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "os/descriptor.h"
#include "os/write_file.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> cannot_restore(const fs::path& path, int error) {
  return fail("restore.write",
              fmt::format("restoring into {}: {}", path.string(), std::strerror(error)));
}

/// The absolute path of the folder, without a `/` at its end and without symbolic links.
Result<fs::path> full_path_of(const fs::path& folder) {
  std::error_code failed;
  fs::path path = fs::absolute(folder, failed).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  if (!failed) path = fs::weakly_canonical(path, failed);
  if (failed) return cannot_restore(folder, failed.value());
  return path;
}

/// Checks that the folder is missing or empty, and that a rename can replace it.
Status check_place(const fs::path& folder) {
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0) {
    if (errno == ENOENT) return {};
    return cannot_restore(folder, errno);
  }
  std::error_code failed;
  const bool is_usable = fs::is_directory(folder, failed) && fs::is_empty(folder, failed);
  if (failed) return cannot_restore(folder, failed.value());
  if (!is_usable) {
    return fail("restore.not_empty",
                fmt::format("{} is not an empty folder; name a folder that does not exist or is "
                            "empty",
                            folder.string()));
  }
  struct stat parent {};
  if (::stat(folder.parent_path().c_str(), &parent) != 0) return cannot_restore(folder, errno);
  if (parent.st_dev == found.st_dev) return {};
  return fail("restore.mount_point",
              fmt::format("{} is a mount point, which a restore cannot replace; name a folder "
                          "within it, such as {}, also for `millrace serve --data`",
                          folder.string(), (folder / "store").string()));
}

/// Checks that the file has the key that the sealed rows of the backup need.
Status check_key_file(const BackupHead& head, const fs::path& key_file) {
  if (head.key_row.empty()) return {};
  if (key_file.empty()) {
    return fail("store.key",
                "the backup has sealed rows, and a backup does not have their key: name the file "
                "with the key of the store by --secret-key-file (the file of `serve "
                "--secret-key-file`, or a copy of the file secret-key in the original data "
                "folder)");
  }
  const Seal seal = TRY(Seal::read(key_file));
  if (opens_key_row(seal, head.key_row)) return {};
  return fail("store.key",
              fmt::format("{} has another key than the store of the backup; name the file with the "
                          "key with which that store was used",
                          key_file.string()));
}

/// Removes what an interrupted restore left. Error `store.locked`: a restore is running there.
Status remove_leftovers(const fs::path& partial) {
  const Descriptor lock(::open((partial / "lock").c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (lock && ::flock(lock.fd(), LOCK_EX | LOCK_NB) != 0) {
    return fail("store.locked",
                fmt::format("{} is in use by another restore; wait for its end", partial.string()));
  }
  std::error_code failed;
  fs::remove_all(partial, failed);
  if (failed) return cannot_restore(partial, failed.value());
  return {};
}

/// Loads all chunks into the empty store of `environment`.
Status load_chunks(BackupSource& source, Environment& environment,
                   const RestoreSettings& settings) {
  Transaction tx(environment);
  BackupLoader loader(tx);
  while (auto chunk = TRY(source.next_chunk())) {
    TRY(loader.add(*chunk));
    if (settings.on_loaded) settings.on_loaded(sum_of(loader.rows()));
  }
  if (loader.rows() != source.manifest().rows) {
    return fail(std::string(kBackupDamaged),
                fmt::format("the backup has {} rows, and other rows than its manifest lists ({}); "
                            "use another backup",
                            sum_of(loader.rows()), sum_of(source.manifest().rows)));
  }
  TRY(loader.finish());
  if (!settings.takes_over) return {};
  // The mark of a folder is that of its file `lock`, which the rename does not change. So the id is
  // kept with the same rename that completes the restore.
  if (auto identity = TRY(read_store_identity(tx))) {
    identity->folder = TRY(environment.mark());
    write_store_identity(tx, *identity);
  }
  return tx.commit();
}

/// Records that the store is a restored one. If the backup is of a restored store, the record
/// begins no later than the record of that store.
Status record_restored(const Environment& environment, const BackupHead& head) {
  const Snapshot view = TRY(Snapshot::take(environment));
  const Cursor cursor = TRY(read_cursor(view));
  RestoredStreams streams = restored_at(cursor);
  if (head.since) streams.since = std::min(streams.since, *head.since);
  return write_restored_file(environment.folder(), streams);
}

/// Makes the store in the folder `partial`.
Status make_store(BackupSource& source, const fs::path& partial, const RestoreSettings& settings) {
  const auto environment = TRY(Environment::open(partial, {.key_file = settings.key_file}));
  TRY(load_chunks(source, *environment, settings));
  TRY(record_restored(*environment, source.head()));
  if (settings.copies_key) TRY(environment->seal().write(partial / "secret-key"));
  return environment->checkpoint();
}

/// Gives the store its name. From now on it exists.
Status rename_store(const fs::path& partial, const fs::path& folder) {
  if (std::rename(partial.c_str(), folder.c_str()) != 0) return cannot_restore(folder, errno);
  const fs::path parent = folder.parent_path();
  if (const int error = sync_folder(parent)) return cannot_restore(parent, error);
  return {};
}

Result<StoreReport> make_checked_store(BackupSource& source, const fs::path& partial,
                                       const RestoreSettings& settings) {
  TRY(make_store(source, partial, settings));
  return check_folder(partial, settings.key_file, settings.check);
}

}  // namespace

fs::path partial_folder(const fs::path& folder) { return folder.string() + ".partial"; }

Result<Restored> restore_backup(BackupSource& source, const RestoreSettings& settings) {
  const fs::path folder = TRY(full_path_of(settings.folder));
  const fs::path partial = partial_folder(folder);
  TRY(check_place(folder));
  TRY(check_key_file(source.head(), settings.key_file));
  TRY(remove_leftovers(partial));
  Result<StoreReport> report = make_checked_store(source, partial, settings);
  const bool is_sound = report && report->sound();
  if (is_sound) {
    TRY(rename_store(partial, folder));
  } else if (!settings.keeps_failed) {
    std::error_code failed;
    fs::remove_all(partial, failed);
    if (failed) spdlog::warn("{} cannot be removed: {}", partial.string(), failed.message());
  }
  if (!report) return tl::unexpected(std::move(report).error());
  return Restored{.report = *std::move(report), .folder = folder};
}

}  // namespace millrace
