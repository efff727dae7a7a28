// PageFile: data.mdb, opened to be read without LMDB, and what its newest meta page says. One
// thread at a time; it writes nothing. For this folder only.
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
  std::optional<PageDamage> damage;  ///< of the meta pages

  /// Reads as much as there is; false: errno says why not.
  bool read(uint64_t at, char* to, size_t bytes, size_t& got) const;

 private:
  Status read_metas(const std::filesystem::path& path);
  Result<lmdb::Meta> read_meta(const std::filesystem::path& path, uint64_t number);
};

}  // namespace millrace
