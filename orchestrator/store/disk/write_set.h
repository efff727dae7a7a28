// WriteSet: the changes of a batch as a value. A WriteSet is the unit of the journal and can be
// replayed on another store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

/// Maps each absolute key (table.h) to the new value; nullopt deletes the row.
using WriteSet = std::map<std::string, std::optional<std::string>, std::less<>>;

/// A commit takes values with more bytes out of the write-set, so that they need not be copied.
inline constexpr size_t kLongValue = size_t{64} << 10;

/// Whether the soft limit applies to a batch.
enum class Limit : uint8_t {
  kKept,    ///< the limit applies: the normal case
  kPassed,  ///< no limit: for batches that must work in a full store (cancels, deletes, retention)
};

/// Appends the encoded write-set to `bytes` (docs/FORMATS.md).
void append_encoded(std::string& bytes, const WriteSet& writes);

/// Appends one encoded write to `bytes`. The encoded writes of ascending keys, one after the other,
/// are the encoded write-set of these writes.
void append_write(std::string& bytes, std::string_view absolute_key,
                  std::optional<std::string_view> value);

/// Decodes a write-set and calls `see` for each entry, in order. False: the bytes are not a valid
/// write-set, and the caller must discard the entries that `see` received.
bool each_write(std::string_view bytes,
                const std::function<void(std::string_view absolute_key,
                                         std::optional<std::string_view> value)>& see);

}  // namespace millrace
