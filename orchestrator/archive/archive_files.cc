#include "orchestrator/archive/archive_files.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "os/crash_point.h"
#include "os/descriptor.h"
#include "os/file_access.h"
#include "os/write_file.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

/// How much of the disk the archive leaves free: twice what the store needs to accept new work
/// (Pressure). So the archive never makes the store refuse work.
constexpr uint64_t kFreeBytes = uint64_t{128} << 20;
constexpr uint64_t kFreePart = 4;  ///< a quarter of the disk, if that is less

/// How many files and folders archive_bytes() looks at.
constexpr size_t kMostMeasured = 10'000;

tl::unexpected<Error> cannot_archive(const fs::path& path, int error) {
  return fail("archive.write",
              fmt::format("writing the archive: {}: {}", path.string(), std::strerror(error)));
}

/// Creates the folder (mode 0700) unless it exists, and puts its name on disk.
Status make_archive_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), 0700) != 0) {
    if (errno == EEXIST) return {};
    return cannot_archive(path, errno);
  }
  if (const int error = sync_folder(path.parent_path())) return cannot_archive(path, error);
  return {};
}

/// Makes the file exactly `length` bytes long. Error kArchiveMoved: it is shorter.
Status cut_file(const Descriptor& file, const fs::path& path, uint64_t length) {
  struct stat found {};
  if (::fstat(file.fd(), &found) != 0) return cannot_archive(path, errno);
  const auto size = static_cast<uint64_t>(found.st_size);
  if (size < length) {
    return fail(std::string(kArchiveMoved),
                fmt::format("{} has {} bytes, expected {}: another program changed "
                            "it; the archive continues in a new file",
                            path.string(), size, length));
  }
  if (size > length && ::ftruncate(file.fd(), static_cast<off_t>(length)) != 0) {
    return cannot_archive(path, errno);
  }
  return {};
}

struct Opened {
  Descriptor file;
  int error = 0;  ///< of open(2); 0: the file is open
};

/// Opens a file of the archive for writing, and follows no link: neither in place of the file nor
/// of the folder of its namespace. Waits for no reader of a named pipe. Error `store.link`.
Result<Opened> open_unlinked(const fs::path& path, int flags) {
  constexpr std::string_view kRemedy =
      "If you have made the link, put the file or folder in its place; otherwise look at what "
      "the link names, and remove the link";
  TRY(refuse_link(path.parent_path(), kRemedy));
  TRY(refuse_link(path, kRemedy));
  TRY(refuse_special_file(path));
  const Descriptor folder(
      ::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return Opened{.file = {}, .error = errno};
  Descriptor file(::openat(folder.fd(), path.filename().c_str(),
                           O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600));
  const int error = file ? 0 : errno;
  return Opened{.file = std::move(file), .error = error};
}

/// Opens the file of the page to append at its position. A page at the begin of a file creates the
/// file.
Result<Descriptor> open_archive(const fs::path& folder, const fs::path& path,
                                const ArchivePage& page) {
  TRY(make_archive_folder(folder));
  TRY(make_archive_folder(path.parent_path()));
  const bool begins_file = page.at.length == 0;
  const int create = begins_file ? O_CREAT | (page.is_new_file ? O_EXCL : 0) : 0;
  auto [file, failed] = TRY(open_unlinked(path, O_APPEND | create));
  if (failed == ENOENT || failed == EEXIST) {
    return fail(std::string(kArchiveMoved),
                fmt::format("{} {}; the archive continues in a new file", path.string(),
                            failed == ENOENT ? "does not exist: it was moved, or the store was "
                                               "restored from a backup, which has no archive"
                                             : "exists already: another program made it"));
  }
  if (failed != 0) return cannot_archive(path, failed);
  TRY(cut_file(file, path, page.at.length));
  if (begins_file) {
    if (const int error = sync_folder(path.parent_path())) return cannot_archive(path, error);
  }
  return std::move(file);
}

Status check_disk(const Descriptor& file, const fs::path& path, uint64_t line) {
  struct statvfs disk {};
  if (::fstatvfs(file.fd(), &disk) != 0) return cannot_archive(path, errno);
  const uint64_t block = disk.f_frsize;
  return check_archive_space(path, block * disk.f_bavail, block * disk.f_blocks, line);
}

using Lengths = std::vector<std::optional<uint64_t>>;

Result<Lengths> append_lines(const Descriptor& file, const fs::path& path, const ArchivePage& page,
                             const ArchiveLine& make_line) {
  Lengths lengths;
  lengths.reserve(page.entries.size());
  uint64_t length = page.at.length;
  for (const ArchivePageEntry& entry : page.entries) {
    Result<std::optional<std::string>> line = make_line(page.name, entry);
    if (!line) {
      spdlog::warn("instance {} is neither archived nor deleted: {}", to_string(entry.id),
                   line.error().message);
    }
    if (!line || !*line) {
      lengths.emplace_back();
      continue;
    }
    **line += '\n';
    TRY(check_disk(file, path, (*line)->size()));
    if (const int error = write_all(file.fd(), **line)) return cannot_archive(path, error);
    length += (*line)->size();
    lengths.emplace_back(length);
    crash_point(CrashPoint::kLineArchived);
  }
  if (::fdatasync(file.fd()) != 0) return cannot_archive(path, errno);
  crash_point(CrashPoint::kPageArchived);
  return lengths;
}

Result<Lengths> write_lines(const fs::path& folder, const ArchivePage& page,
                            const ArchiveLine& make_line) {
  const fs::path path = archive_file(folder, page.ns, page.name, page.at.file);
  const Descriptor file = TRY(open_archive(folder, path, page));
  Result<Lengths> lengths = append_lines(file, path, page, make_line);
  // Lines that do not count use no space until the next attempt, which would remove them, too.
  if (!lengths) static_cast<void>(cut_file(file, path, page.at.length));
  return lengths;
}

}  // namespace

Status check_archive_space(const fs::path& path, uint64_t free, uint64_t whole, uint64_t line) {
  const uint64_t least = std::min(kFreeBytes, whole / kFreePart);
  if (free >= least && free - least >= line) return {};
  return fail(
      "archive.write",
      fmt::format("writing the archive: {}: a line of {} bytes is to be written, and {} "
                  "bytes of the disk must stay free for the store, but the disk has {} "
                  "free bytes; free space, for example by moving older files of the archive",
                  path.string(), line, least, free));
}

fs::path archive_file(const fs::path& folder, NamespaceNumber ns, std::string_view name,
                      uint32_t file) {
  return folder / fmt::format("{}.{}", name, static_cast<uint32_t>(ns)) /
         fmt::format("{:06}.jsonl", file);
}

ArchivedPage write_page(const fs::path& folder, const ArchivePage& page, const ArchiveLine& line) {
  ArchivedPage written{.number = page.number, .lengths = write_lines(folder, page, line)};
  if (!written.lengths) {
    const Error& error = written.lengths.error();
    spdlog::warn("{}{}", error.message,
                 error.code == kArchiveMoved
                     ? ""
                     : "; the instances stay, and millrace tries again in a minute");
  }
  return written;
}

Status cut_archive(const fs::path& folder, NamespaceNumber ns, std::string_view name,
                   const ArchivePosition& at) {
  const fs::path path = archive_file(folder, ns, name, at.file);
  const Opened opened = TRY(open_unlinked(path, 0));
  if (opened.error == ENOENT) return {};
  if (opened.error != 0) return cannot_archive(path, opened.error);
  const Status cut = cut_file(opened.file, path, at.length);
  return !cut && cut.error().code == kArchiveMoved ? Status() : cut;
}

std::optional<uint64_t> archive_bytes(const fs::path& folder) {
  std::error_code failed;
  fs::recursive_directory_iterator at(folder, failed);
  if (failed == std::errc::no_such_file_or_directory) return 0;
  uint64_t bytes = 0;
  size_t left = kMostMeasured;
  for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
    if (left-- == 0) return std::nullopt;
    // An operator may move a file at any time.
    std::error_code gone;
    if (!at->is_regular_file(gone)) continue;
    const uintmax_t size = at->file_size(gone);
    if (!gone) bytes += size;
  }
  if (failed) return std::nullopt;
  return bytes;
}

}  // namespace millrace
