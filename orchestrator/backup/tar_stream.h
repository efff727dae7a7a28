// Reads and writes a tar archive as a stream, entry by entry, with libarchive. Nothing is
// compressed: a program after the writer, or before the reader, can do that. For one thread.
#pragma once

#include <array>
#include <cstddef>
#include <istream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "base/result.h"

struct archive;

namespace millrace {

class TarStreamWriter {
 public:
  /// `out` must outlive the writer.
  explicit TarStreamWriter(std::ostream& out);
  /// Without finish(), the stream has no end of an archive.
  ~TarStreamWriter() { is_over_ = true; }
  TarStreamWriter(const TarStreamWriter&) = delete;
  TarStreamWriter& operator=(const TarStreamWriter&) = delete;

  /// Adds a regular file. Error `backup.write`: the stream accepts no more bytes.
  Status add(std::string_view name, std::string_view bytes);

  /// Writes the end of the archive. Error: that of add().
  Status finish();

 private:
  tl::unexpected<Error> failed() const;

  std::ostream& out_;
  bool is_over_ = false;  ///< what libarchive writes while it is freed is dropped
  std::unique_ptr<archive, int (*)(archive*)> archive_;
};

class TarStreamReader {
 public:
  struct Entry {
    std::string name;  ///< without a leading `./`
    std::string bytes;
  };

  /// `in` must outlive the reader.
  explicit TarStreamReader(std::istream& in);
  TarStreamReader(const TarStreamReader&) = delete;
  TarStreamReader& operator=(const TarStreamReader&) = delete;

  /// The next regular file; folders are skipped. nullopt: the stream has no more entries, or ends
  /// between two entries. Error `backup.read`: the stream is empty, is no tar archive, is
  /// compressed, ends within an entry, has an entry that is neither a file nor a folder, has a
  /// sparse file, or cannot be read.
  Result<std::optional<Entry>> next();

 private:
  tl::unexpected<Error> broken() const;

  std::istream& in_;
  std::array<char, 65536> buffer_{};
  std::string begin_;  ///< the first bytes of the stream
  std::unique_ptr<archive, int (*)(archive*)> archive_;
};

}  // namespace millrace
