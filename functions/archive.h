// Tar archives by libarchive (the only code that includes its headers): what is in one, as far as
// files and folders go, and how one is made. Knows nothing of disks; both for one thread at a time.
#pragma once

#include <array>
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

/// A regular file or a folder; all else is an error of the archive.
struct ArchiveEntry {
  std::string path;  ///< as the archive has it
  bool is_folder = false;
  bool executable = false;
  uint64_t size = 0;  ///< of a file, as the archive says: what comes may be less, never more
};

class ArchiveReader {
 public:
  /// Of a tar archive, or of a compressed one; `bytes` stay where they are.
  ArchiveReader(std::string_view bytes, bool gzip);

  /// The next entry; nullopt: that was the last. What was not read of the one before is passed
  /// over. Error kFunctionFiles: it is corrupt or truncated, holds what is neither file nor folder,
  /// or comes to too much uncompressed.
  Result<std::optional<ArchiveEntry>> next();

  /// More of the entry's bytes, until the next call; none: that was all. Error kFunctionFiles.
  Result<std::string_view> read();

 private:
  tl::unexpected<Error> broken() const;

  std::string_view bytes_;
  bool gzip_;
  std::unique_ptr<archive, int (*)(archive*)> archive_;
  std::array<char, 65536> buffer_{};
};

/// Makes a tar.gz whose bytes depend on what is added only.
class ArchiveWriter {
 public:
  /// Larger than `most` bytes it can't become.
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
