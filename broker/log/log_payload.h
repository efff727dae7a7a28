// The payload of a commit in the log: compressed if that makes it shorter, and divided into parts
// that the broker takes. The only code that includes zstd.h. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "broker/log/log_message.h"

struct ZSTD_CCtx_s;  // as zstd.h declares it

namespace millrace {

/// The most bytes of a write-set in the log.
inline constexpr size_t kMostLogCommitBytes = size_t{256} << 20;

/// A write-set of at least this size is compressed.
inline constexpr size_t kPackedFrom = 1'024;

/// What one append adds to the log: all parts of a commit, or one message of another kind.
struct LogUnit {
  LogKind kind = LogKind::kCommit;
  uint64_t epoch = 1;
  LogIncarnation incarnation{};
  uint64_t commit = 0;
  uint64_t format = 0;
  bool is_packed = false;
  std::vector<std::string> parts = {""};  ///< the payload of each part; at least one

  bool operator==(const LogUnit&) const = default;
};

/// The bytes of a part, if the broker takes messages of `max_payload` bytes: the rest is for the
/// headers. At least 1 KiB.
size_t log_part_bytes(uint64_t max_payload);

/// Puts write-sets into units. It keeps the memory of the compressor, 1 MB. For one thread at a
/// time.
class LogPacker {
 public:
  LogPacker();

  /// `unit` with the payload of `write_set`, in parts of at most `part_bytes` bytes. Error
  /// `log.too_large`: the write-set has more than kMostLogCommitBytes, or more than kMostLogParts
  /// parts.
  Result<LogUnit> pack(LogUnit unit, std::string_view write_set, size_t part_bytes);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
};

/// The write-set in a payload that was joined from all its parts. Error `log.unreadable`: the
/// payload is not what LogPacker makes, or the write-set has more than kMostLogCommitBytes. No more
/// than that is allocated.
Result<std::string> unpack_log_payload(bool is_packed, std::string joined);

}  // namespace millrace
