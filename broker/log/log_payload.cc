#include "broker/log/log_payload.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <zstd.h>

#include "base/check.h"

namespace millrace {
namespace {

constexpr size_t kRoomForHeaders = 16'384;
constexpr size_t kLeastPartBytes = 1'024;
constexpr int kPackLevel = 1;

tl::unexpected<Error> unreadable(std::string why) { return fail("log.unreadable", std::move(why)); }

}  // namespace

size_t log_part_bytes(uint64_t max_payload) {
  return std::max<size_t>(
      max_payload > kRoomForHeaders ? static_cast<size_t>(max_payload) - kRoomForHeaders : 0,
      kLeastPartBytes);
}

void LogPacker::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

LogPacker::LogPacker() : context_(ZSTD_createCCtx()) {
  CHECK(context_ != nullptr, "no memory for a compressor");
}

Result<LogUnit> LogPacker::pack(LogUnit unit, std::string_view write_set, size_t part_bytes) {
  CHECK(part_bytes > 0);
  if (write_set.size() > kMostLogCommitBytes) {
    return fail("log.too_large", fmt::format("a write-set has {} bytes; the log takes at most {}",
                                             write_set.size(), kMostLogCommitBytes));
  }
  std::string packed;
  unit.is_packed = false;
  if (write_set.size() >= kPackedFrom) {
    // As long as the write-set at most: a longer result is of no use.
    packed.resize(write_set.size());
    const size_t size = ZSTD_compressCCtx(context_.get(), packed.data(), packed.size(),
                                          write_set.data(), write_set.size(), kPackLevel);
    unit.is_packed = ZSTD_isError(size) == 0 && size < write_set.size();
    if (unit.is_packed) write_set = std::string_view(packed).substr(0, size);
  }
  const size_t count = std::max<size_t>((write_set.size() + part_bytes - 1) / part_bytes, 1);
  if (count > kMostLogParts) {
    return fail("log.too_large",
                fmt::format("a write-set has {} parts of {} bytes; expected at most {}: raise "
                            "`max_payload` of nats-server",
                            count, part_bytes, kMostLogParts));
  }
  unit.parts.clear();
  for (size_t i = 0; i < count; ++i) {
    unit.parts.emplace_back(write_set.substr(i * part_bytes, part_bytes));
  }
  return unit;
}

Result<std::string> unpack_log_payload(bool is_packed, std::string joined) {
  if (!is_packed) {
    if (joined.size() <= kMostLogCommitBytes) return joined;
    return unreadable(fmt::format("a write-set has {} bytes; expected at most {}", joined.size(),
                                  kMostLogCommitBytes));
  }
  const size_t frame = ZSTD_findFrameCompressedSize(joined.data(), joined.size());
  if (ZSTD_isError(frame) != 0 || frame != joined.size()) {
    return unreadable(fmt::format("a payload of {} bytes is not one frame of zstd", joined.size()));
  }
  const unsigned long long size = ZSTD_getFrameContentSize(joined.data(), joined.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR) {
    return unreadable("a compressed payload does not say how long its write-set is");
  }
  if (size > kMostLogCommitBytes) {
    return unreadable(
        fmt::format("a compressed payload says that its write-set has {} bytes; "
                    "expected at most {}",
                    size, kMostLogCommitBytes));
  }
  // Not a string, which would write to all these bytes before it is known that they are needed.
  const std::unique_ptr<char[]> write_set(new char[size]);
  const size_t made = ZSTD_decompress(write_set.get(), size, joined.data(), joined.size());
  if (ZSTD_isError(made) != 0) {
    return unreadable(
        fmt::format("a compressed payload cannot be read: {}", ZSTD_getErrorName(made)));
  }
  if (made != size) {
    return unreadable(
        fmt::format("a compressed payload has {} bytes; it says that it has {}", made, size));
  }
  return std::string(write_set.get(), made);
}

}  // namespace millrace
