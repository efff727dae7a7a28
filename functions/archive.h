// Reads and writes tar archives of files and folders in memory, with libarchive. This code does not
// access disks. For one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct archive;
struct archive_entry;

namespace millrace {

/// A regular file or a folder; any other kind of entry is an error.
struct ArchiveEntry {
  std::string path;  ///< unchanged from the archive
  bool is_folder = false;
  bool executable = false;
  uint64_t size = 0;  ///< of a file, from the header; read() gives no more bytes
};

class ArchiveReader {
 public:
  /// Reads a tar archive, or a tar.gz if `gzip`. `bytes` must stay valid and unchanged.
  ArchiveReader(std::string_view bytes, bool gzip);

  /// The next entry; nullopt: there are no more. The unread rest of the previous entry is skipped.
  /// Error kFunctionFiles: the archive is corrupt or truncated, has an entry that is neither file
  /// nor folder, or is too large uncompressed.
  Result<std::optional<ArchiveEntry>> next();

  /// The next bytes of the entry, valid until read() or next() is called again; empty: the entry
  /// has no more bytes. Error kFunctionFiles: the archive is corrupt or truncated, or the entry is
  /// a sparse file whose header does not say so.
  Result<std::string_view> read();

 private:
  tl::unexpected<Error> broken() const;

  std::string_view bytes_;
  bool gzip_;
  std::unique_ptr<archive, int (*)(archive*)> archive_;
  uint64_t size_ = 0;  ///< of the current entry, from its header
  uint64_t done_ = 0;  ///< the bytes of the current entry that were read
};

/// Creates a tar.gz for a variable, whose bytes depend only on the added entries.
class ArchiveWriter {
 public:
  /// The archive may have at most `most` bytes.
  explicit ArchiveWriter(size_t most);

  /// Error kFunctionFiles: the archive becomes too large.
  Status add_folder(const std::string& path);
  Status add_file(const std::string& path, std::string_view bytes, bool executable);
  Result<std::string> finish();

 private:
  Status add(archive_entry* entry, const std::string& path, std::string_view bytes);
  tl::unexpected<Error> too_large() const;

  size_t most_;
  std::string packed_;
  std::unique_ptr<archive, int (*)(archive*)> archive_;
};

}  // namespace millrace
