// ArchivePosition: how far the archive of a namespace is committed. The archive has deleted
// instances as lines of JSON, in numbered files. Plain values.
#pragma once

#include <cstdint>

namespace millrace {

struct ArchivePosition {
  uint32_t file = 1;    ///< the number of the newest file; the first file has the number 1
  uint64_t length = 0;  ///< bytes of that file; what follows them was not committed

  bool operator==(const ArchivePosition&) const = default;
};

}  // namespace millrace
