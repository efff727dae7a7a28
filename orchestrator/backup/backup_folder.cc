#include "orchestrator/backup/backup_folder.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/read_file.h"
#include "os/write_file.h"

namespace millrace {
namespace {

/// The largest head or manifest that is read. The manifest of a store of a tebibyte has 200 MiB.
constexpr size_t kMostTextBytes = size_t{1} << 30;

tl::unexpected<Error> cannot_write(const std::filesystem::path& path, int error) {
  return fail("backup.write",
              fmt::format("writing the backup: {}: {}; the backup is not complete, remove it",
                          path.string(), std::strerror(error)));
}

/// Writes a new file and syncs it.
Status write_new_file(const std::filesystem::path& path, std::string_view bytes) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return cannot_write(path, errno);
  if (const int error = write_all(file.fd(), bytes)) return cannot_write(path, error);
  if (::fdatasync(file.fd()) != 0) return cannot_write(path, errno);
  return {};
}

tl::unexpected<Error> cannot_read(const std::string& why) {
  return fail("backup.read", "reading the backup: " + why);
}

/// Reads a file of a backup. nullopt: it does not exist.
Result<std::optional<std::string>> read_backup_file(const std::filesystem::path& path,
                                                    size_t most_bytes) {
  std::error_code failed;
  if (!std::filesystem::exists(path, failed) && !failed) return std::nullopt;
  Result<std::string> bytes = read_file(path, most_bytes);
  if (bytes) return *std::move(bytes);
  return cannot_read(bytes.error().message);
}

/// Why the path is not the folder of a backup; empty: it is the folder of a backup, complete or
/// not. Error `backup.read`.
Result<std::string> why_no_backup(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::file_status found = fs::status(path, failed);
  if (found.type() == fs::file_type::not_found) return "it does not exist";
  if (failed) return cannot_read(fmt::format("{}: {}", path.string(), failed.message()));
  if (!fs::is_directory(found)) {
    return fmt::format("it is a file; to restore a tar archive, write `millrace restore - < {}`",
                       path.string());
  }
  const bool is_empty = fs::is_empty(path, failed);
  if (failed) return cannot_read(fmt::format("{}: {}", path.string(), failed.message()));
  if (is_empty) return "it is an empty folder";
  for (const std::string_view file : {kBackupHeadFile, kBackupManifestFile}) {
    if (fs::exists(path / file, failed) || failed) return std::string();
  }
  return fmt::format("it has neither the file {} nor the file {}", kBackupHeadFile,
                     kBackupManifestFile);
}

}  // namespace

// BackupFolderTarget.

Result<BackupFolderTarget> BackupFolderTarget::make(const std::filesystem::path& folder) {
  const bool is_new = ::mkdir(folder.c_str(), 0700) == 0;
  if (!is_new && errno != EEXIST) return cannot_write(folder, errno);
  if (is_new) {  // finish() syncs the folder, which does not put its own name on disk
    if (const int error = sync_folder(folder / "..")) return cannot_write(folder, error);
  }
  std::error_code failed;
  const bool is_usable =
      std::filesystem::is_directory(folder, failed) && std::filesystem::is_empty(folder, failed);
  if (failed) return cannot_write(folder, failed.value());
  if (!is_usable) {
    return fail("backup.not_empty",
                fmt::format("{} is not an empty folder; name a new or an empty folder for the "
                            "backup",
                            folder.string()));
  }
  Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return cannot_write(folder, errno);
  return BackupFolderTarget(folder, std::move(opened));
}

Status BackupFolderTarget::write(std::string_view name, std::string_view bytes) {
  const std::filesystem::path path = folder_ / name;
  if (name != kBackupManifestFile) return write_new_file(path, bytes);
  const std::filesystem::path part = path.string() + ".part";
  TRY(write_new_file(part, bytes));
  // The names of the chunks must be on disk before the name of the manifest.
  if (::fsync(opened_.fd()) != 0) return cannot_write(folder_, errno);
  if (std::rename(part.c_str(), path.c_str()) != 0) return cannot_write(path, errno);
  return {};
}

Status BackupFolderTarget::finish() {
  if (::fsync(opened_.fd()) != 0) return cannot_write(folder_, errno);
  return {};
}

// BackupFolderSource.

Result<BackupFolderSource> BackupFolderSource::open(const std::filesystem::path& folder) {
  if (const std::string why = TRY(why_no_backup(folder)); !why.empty()) {
    return tl::unexpected(missing_backup(folder.string(), why));
  }
  const auto text = TRY(read_backup_file(folder / kBackupManifestFile, kMostTextBytes));
  if (!text) return tl::unexpected(incomplete_backup(folder.string()));
  BackupManifest listed = TRY(decode_backup_manifest(*text));
  BackupFolderSource source(folder, std::move(listed));
  const auto head = TRY(read_backup_file(folder / kBackupHeadFile, kMostTextBytes));
  if (!head || TRY(read_head_file(*head)) != source.head()) {
    return fail(std::string(kBackupDamaged),
                fmt::format("the file {} in {} is missing or differs from the manifest; use "
                            "another backup",
                            kBackupHeadFile, folder.string()));
  }
  for (size_t n = 1; n <= source.manifest_.chunks.size(); ++n) TRY(source.read(n));
  return source;
}

Result<std::optional<std::string>> BackupFolderSource::next_chunk() {
  if (next_ > manifest_.chunks.size()) return std::nullopt;
  return TRY(read(next_++));
}

/// Reads a chunk and checks it.
Result<std::string> BackupFolderSource::read(size_t number) const {
  const std::filesystem::path path = folder_ / chunk_file(number);
  auto bytes = TRY(read_backup_file(path, std::numeric_limits<size_t>::max() / 2));
  if (!bytes) {
    return fail(
        std::string(kBackupDamaged),
        fmt::format("the file {} of the backup is missing; use another backup", path.string()));
  }
  TRY(check_chunk(manifest_, number, entry_of(*bytes)));
  return *std::move(bytes);
}

}  // namespace millrace
