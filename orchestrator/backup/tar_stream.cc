#include "orchestrator/backup/tar_stream.h"

#include <algorithm>
#include <utility>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include "base/excerpt.h"

namespace millrace {
namespace {

constexpr mode_t kTarFileMode = 0600;

/// A program that compresses files, and the first bytes of each file that it writes.
struct Compression {
  std::string_view program;
  std::string_view begin;
};
constexpr std::array kCompressions = {
    Compression{"gzip", "\x1f\x8b"}, Compression{"zstd", "\x28\xb5\x2f\xfd"},
    Compression{"xz", "\xfd\x37zXZ"}, Compression{"bzip2", "BZh"}};
constexpr size_t kBeginBytes = 8;

std::string error_of(archive* of) {
  const char* const text = archive_error_string(of);
  return excerpt(text == nullptr ? "unknown error" : text, 200);
}

}  // namespace

// TarStreamWriter.

TarStreamWriter::TarStreamWriter(std::ostream& out)
    : out_(out), archive_(archive_write_new(), archive_write_free) {
  // gnutar has no limit on the size of a file.
  archive_write_set_format_gnutar(archive_.get());
  archive_write_set_bytes_in_last_block(archive_.get(), 1);
  const auto write = [](archive* writer, void* self, const void* bytes, size_t size) -> la_ssize_t {
    auto* const own = static_cast<TarStreamWriter*>(self);
    const auto* const text = static_cast<const char*>(bytes);
    if (own->is_over_ || own->out_.write(text, static_cast<std::streamsize>(size))) {
      return static_cast<la_ssize_t>(size);
    }
    archive_set_error(writer, ARCHIVE_FATAL, "the output accepts no more bytes");
    return -1;
  };
  archive_write_open(archive_.get(), this, nullptr, write, nullptr);
}

Status TarStreamWriter::add(std::string_view name, std::string_view bytes) {
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                       archive_entry_free);
  archive_entry_copy_pathname(entry.get(), std::string(name).c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), kTarFileMode);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes.size()));
  archive_entry_set_mtime(entry.get(), 0, 0);
  if (archive_write_header(archive_.get(), entry.get()) < ARCHIVE_WARN) return failed();
  while (!bytes.empty()) {
    const la_ssize_t count = archive_write_data(archive_.get(), bytes.data(), bytes.size());
    if (count <= 0) return failed();
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

Status TarStreamWriter::finish() {
  if (archive_write_close(archive_.get()) != ARCHIVE_OK || !out_.flush()) return failed();
  return {};
}

tl::unexpected<Error> TarStreamWriter::failed() const {
  return fail("backup.write", fmt::format("writing the tar stream: {}; the backup is not complete",
                                          error_of(archive_.get())));
}

// TarStreamReader.

TarStreamReader::TarStreamReader(std::istream& in)
    : in_(in), archive_(archive_read_new(), archive_read_free) {
  archive_read_support_format_tar(archive_.get());
  const auto read = [](archive* reader, void* self, const void** bytes) -> la_ssize_t {
    auto* const own = static_cast<TarStreamReader*>(self);
    own->in_.read(own->buffer_.data(), static_cast<std::streamsize>(own->buffer_.size()));
    if (own->in_.bad()) {
      archive_set_error(reader, ARCHIVE_FATAL, "the input cannot be read");
      return -1;
    }
    const auto count = static_cast<size_t>(own->in_.gcount());
    if (own->begin_.empty()) own->begin_.assign(own->buffer_.data(), std::min(count, kBeginBytes));
    *bytes = own->buffer_.data();
    return static_cast<la_ssize_t>(count);
  };
  // An error of the open is found again by next().
  archive_read_open(archive_.get(), this, nullptr, read, nullptr);
}

Result<std::optional<TarStreamReader::Entry>> TarStreamReader::next() {
  archive_entry* entry = nullptr;
  while (true) {
    const int code = archive_read_next_header(archive_.get(), &entry);
    if (begin_.empty() && !in_.bad()) return broken();
    if (code == ARCHIVE_EOF) return std::nullopt;
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN) return broken();
    if (archive_entry_filetype(entry) != AE_IFDIR) break;
  }
  const char* const path = archive_entry_pathname(entry);
  Entry found{.name = path == nullptr ? "" : path, .bytes = {}};
  if (found.name.starts_with("./")) found.name.erase(0, 2);
  if (archive_entry_filetype(entry) != AE_IFREG) {
    return fail("backup.read", fmt::format("entry {} of the tar stream is not a regular file",
                                           excerpt(found.name)));
  }
  // The bytes of an entry are kept in memory. The holes of a sparse file take no bytes of the
  // stream, and archive_read_data() would fill them with zeros, also without a map in the header of
  // the entry. So blocks are read, with their places.
  const auto is_sparse = [&] {
    return fail("backup.read",
                fmt::format("entry {} of the tar stream is a sparse file; expected the output of "
                            "`millrace backup -`: pack the folder again without --sparse",
                            excerpt(found.name)));
  };
  if (archive_entry_sparse_count(entry) > 0) return is_sparse();
  while (true) {
    const void* bytes = nullptr;
    size_t count = 0;
    la_int64_t at = 0;
    const int code = archive_read_data_block(archive_.get(), &bytes, &count, &at);
    if (code != ARCHIVE_OK && code != ARCHIVE_EOF) return broken();
    if (at < 0 || static_cast<size_t>(at) != found.bytes.size()) return is_sparse();
    if (code == ARCHIVE_EOF) return found;
    found.bytes.append(static_cast<const char*>(bytes), count);
  }
}

tl::unexpected<Error> TarStreamReader::broken() const {
  constexpr std::string_view kExpected = "expected the output of `millrace backup -`, uncompressed";
  const auto refused = [&](std::string_view what, std::string_view mend) {
    return fail("backup.read",
                fmt::format("reading the tar stream: {}; {}{}", what, kExpected, mend));
  };
  if (begin_.empty() && !in_.bad()) {
    return refused("it is empty", ": check the command or the file that gives the stream");
  }
  for (const Compression& one : kCompressions) {
    if (!begin_.starts_with(one.begin)) continue;
    return refused(fmt::format("it is compressed by {}", one.program),
                   fmt::format(": `{} -dc FILE | millrace restore -`", one.program));
  }
  return refused(error_of(archive_.get()), "");
}

}  // namespace millrace
