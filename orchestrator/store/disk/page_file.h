// PageFile: data.mdb, opened for reading without LMDB, and the content of its newest meta page. A
// PageFile writes nothing, and one thread at a time may use it. Only for orchestrator/store/disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "orchestrator/store/disk/page_check.h"
#include "orchestrator/store/disk/page_layout.h"
#include "os/descriptor.h"

namespace millrace {

class PageFile {
 public:
  /// Opens the file and reads its two meta pages. Errors: `store.io`, `store.version` (another LMDB
  /// format).
  static Result<std::unique_ptr<PageFile>> open(const std::filesystem::path& path);

  PageFile() = default;
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  Descriptor descriptor;
  uint64_t size = 0;
  uint64_t page_bytes = 4096;
  lmdb::Meta meta;
  std::optional<PageDamage> damage;  ///< the damage of the meta pages; nullopt: none

  /// Reads up to `bytes` bytes from byte `at` of the file on. `got` is the number of bytes that
  /// were read: fewer than `bytes` at the end of the file. False: errno has the error.
  bool read(uint64_t at, char* to, size_t bytes, size_t& got) const;

 private:
  Status read_metas(const std::filesystem::path& path);
  Result<lmdb::Meta> read_meta(const std::filesystem::path& path, uint64_t number);
};

}  // namespace millrace
