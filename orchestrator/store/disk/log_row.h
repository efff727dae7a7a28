// The row "log" of the table `meta`: the position of the last commit that the folder has of the log
// of its cluster. A folder without this row belongs to no cluster. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "orchestrator/ports/commit_log.h"

namespace millrace {

/// The key of the row in kMeta.
inline constexpr std::string_view kLogKey = "log";

/// The size of the row's value. Each value has the same size, so the space of the row can be
/// reserved before the position is known.
inline constexpr size_t kLogRowBytes = size_t{1} + 3 * 8 + 3 * 16;

/// The size of the row as an encoded write (write_set.h): a size, the byte of the table and the
/// key, a boolean, a size, the value.
inline constexpr size_t kLogWriteBytes = 1 + 1 + kLogKey.size() + 1 + 1 + kLogRowBytes;

/// The bytes of a position. Decoding fails with `store.corrupt`.
std::string encode(const LogPosition& position);
Result<LogPosition> decode_log_position(std::string_view bytes);

}  // namespace millrace
