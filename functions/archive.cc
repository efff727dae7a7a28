#include "functions/archive.h"

#include <utility>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include "functions/files.h"
#include "model/task.h"

namespace millrace {
namespace {

/// The size limit of an uncompressed archive with headers and padding: twice the limit for its
/// files (kMaxFilesBytes).
constexpr int64_t kMostUncompressed = int64_t{128} << 20;
constexpr size_t kBlock = 512;
/// An archive is untrusted input: of its modes only the right to execute is used, and its owners
/// and times are not.
constexpr mode_t kFolderMode = 0755;
constexpr mode_t kFileMode = 0644;
constexpr mode_t kExecutable = 0111;

tl::unexpected<Error> bad(std::string message) {
  return fail(std::string(kFunctionFiles), std::move(message));
}

/// Whether an uncompressed archive ends with a block of zeros, and so is complete. libarchive
/// accepts an archive that is cut between two entries as complete. A compressed archive needs no
/// such check: if it is cut, its compressed data has no end.
bool has_end_mark(std::string_view tar) {
  return tar.size() >= kBlock &&
         tar.substr(tar.size() - kBlock).find_first_not_of('\0') == std::string_view::npos;
}

/// The kind of an entry that is not accepted in an archive; empty: the entry is accepted.
std::string_view kind_refused(archive_entry* entry) {
  if (archive_entry_hardlink(entry) != nullptr || archive_entry_symlink(entry) != nullptr) {
    return "a link";
  }
  if (archive_entry_sparse_count(entry) > 0) return "a sparse file";
  switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
    case AE_IFDIR:
      return "";
    case AE_IFLNK:
      return "a link";
    case AE_IFCHR:
    case AE_IFBLK:
      return "a device";
    case AE_IFIFO:
      return "a fifo";
    default:
      return "of an unknown kind";
  }
}

/// Makes a name, or an error text of libarchive, printable: both may contain any bytes of the
/// archive.
std::string printable(const char* text) {
  std::string shown = text == nullptr ? "?" : std::string(text).substr(0, 100);
  for (char& byte : shown) {
    if (byte < ' ' || byte > '~') byte = '?';
  }
  return shown;
}

}  // namespace

ArchiveReader::ArchiveReader(std::string_view bytes, bool gzip)
    : bytes_(bytes), gzip_(gzip), archive_(archive_read_new(), archive_read_free) {
  archive_read_support_format_tar(archive_.get());
  if (gzip) archive_read_support_filter_gzip(archive_.get());
  archive_read_open_memory(archive_.get(), bytes_.data(), bytes_.size());
}

tl::unexpected<Error> ArchiveReader::broken() const {
  return bad(fmt::format("the archive is corrupt or truncated: {}",
                         printable(archive_error_string(archive_.get()))));
}

Result<std::optional<ArchiveEntry>> ArchiveReader::next() {
  archive_entry* entry = nullptr;
  const int code = archive_read_next_header(archive_.get(), &entry);
  if (archive_filter_bytes(archive_.get(), 0) > kMostUncompressed) {
    return bad(
        fmt::format("the archive has more than {} MiB uncompressed", kMostUncompressed >> 20));
  }
  // libarchive counts the source itself as one filter.
  if (gzip_ && archive_filter_count(archive_.get()) != 2) {
    return bad("the archive is not compressed with gzip exactly once");
  }
  if (code == ARCHIVE_EOF) {
    if (!gzip_ && !has_end_mark(bytes_)) {
      return bad("the archive is corrupt or truncated: no end mark");
    }
    return std::nullopt;
  }
  // libarchive warns about names in another character set; the caller checks names.
  if (code != ARCHIVE_OK && code != ARCHIVE_WARN) return broken();
  const char* const path = archive_entry_pathname(entry);
  if (path == nullptr) return bad("an entry has no name");
  const std::string_view refused = kind_refused(entry);
  if (!refused.empty()) {
    return bad(fmt::format("entry {} is {}; only regular files and folders are accepted",
                           printable(path), refused));
  }
  const int64_t size = archive_entry_size(entry);
  if (size < 0) return bad(fmt::format("entry {} has a negative size", printable(path)));
  size_ = static_cast<uint64_t>(size);
  done_ = 0;
  return ArchiveEntry{.path = path,
                      .is_folder = archive_entry_filetype(entry) == AE_IFDIR,
                      .executable = (archive_entry_mode(entry) & kExecutable) != 0,
                      .size = size_};
}

/// archive_read_data() would fill the holes of a sparse file with zeros, also of one without a map
/// in its header, and the holes take no bytes of the archive. So blocks are read, with their
/// places.
Result<std::string_view> ArchiveReader::read() {
  const void* bytes = nullptr;
  size_t count = 0;
  la_int64_t at = 0;
  int code = ARCHIVE_OK;
  while (code == ARCHIVE_OK && count == 0) {
    code = archive_read_data_block(archive_.get(), &bytes, &count, &at);
  }
  if (code != ARCHIVE_OK && code != ARCHIVE_EOF) return broken();
  if (at < 0 || static_cast<uint64_t>(at) != done_ || count > size_ - done_) {
    return bad("it is a sparse file; only regular files and folders are accepted");
  }
  done_ += count;
  return std::string_view(static_cast<const char*>(bytes), count);
}

ArchiveWriter::ArchiveWriter(size_t most)
    : most_(most), archive_(archive_write_new(), archive_write_free) {
  // gnutar stores names unchanged; pax would require names in the process's locale.
  archive_write_set_format_gnutar(archive_.get());
  archive_write_add_filter_gzip(archive_.get());
  archive_write_set_options(archive_.get(), "gzip:!timestamp");
  archive_write_set_bytes_in_last_block(archive_.get(), 1);
  const auto write = [](archive* writer, void* self, const void* bytes, size_t size) -> la_ssize_t {
    auto* const own = static_cast<ArchiveWriter*>(self);
    if (own->packed_.size() + size > own->most_) {
      archive_set_error(writer, ARCHIVE_FATAL, "too large");
      return -1;
    }
    own->packed_.append(static_cast<const char*>(bytes), size);
    return static_cast<la_ssize_t>(size);
  };
  archive_write_open(archive_.get(), this, nullptr, write, nullptr);
}

Status ArchiveWriter::add_folder(const std::string& path) {
  archive_entry* const entry = archive_entry_new();
  archive_entry_set_filetype(entry, AE_IFDIR);
  archive_entry_set_perm(entry, kFolderMode);
  return add(entry, path, "");
}

Status ArchiveWriter::add_file(const std::string& path, std::string_view bytes, bool executable) {
  archive_entry* const entry = archive_entry_new();
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_entry_set_perm(entry, executable ? kFileMode | kExecutable : kFileMode);
  archive_entry_set_size(entry, static_cast<la_int64_t>(bytes.size()));
  return add(entry, path, bytes);
}

Status ArchiveWriter::add(archive_entry* entry, const std::string& path, std::string_view bytes) {
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> freed(entry, archive_entry_free);
  archive_entry_copy_pathname(entry, path.c_str());
  archive_entry_set_mtime(entry, 0, 0);
  if (archive_write_header(archive_.get(), entry) < ARCHIVE_WARN) return too_large();
  while (!bytes.empty()) {
    const la_ssize_t count = archive_write_data(archive_.get(), bytes.data(), bytes.size());
    if (count <= 0) return too_large();
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

Result<std::string> ArchiveWriter::finish() {
  if (archive_write_close(archive_.get()) != ARCHIVE_OK) return too_large();
  return std::move(packed_);
}

tl::unexpected<Error> ArchiveWriter::too_large() const {
  return bad(fmt::format("its archive is larger than {} bytes; {}", most_, limit_of_variable()));
}

}  // namespace millrace
