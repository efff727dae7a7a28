// The rows of the table `meta` that say what a folder has of the log of its cluster. The row "log"
// is the position of the last commit that the folder has; a folder without this row belongs to no
// cluster. The row "loading" is there while a snapshot is loaded into the folder, which until then
// lacks rows. These rows belong to the folder: neither the log nor a snapshot has them. Pure
// functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "orchestrator/ports/commit_log.h"

namespace millrace {

/// The key of the row with the position, in kMeta.
inline constexpr std::string_view kLogKey = "log";

/// The key of the row, in kMeta, with the position that a store must reach, by the commits of the
/// log, before it has all rows of the snapshot that it loads. Its value is an encoded position.
inline constexpr std::string_view kLoadingKey = "loading";

/// The size of the row's value. Each value has the same size, so the space of the row can be
/// reserved before the position is known.
inline constexpr size_t kLogRowBytes = size_t{1} + size_t{3} * 8 + size_t{3} * 16;

/// The size of the row as an encoded write (write_set.h): a size, the byte of the table and the
/// key, a boolean, a size, the value.
inline constexpr size_t kLogWriteBytes = 1 + 1 + kLogKey.size() + 1 + 1 + kLogRowBytes;

/// The bytes of a position. Decoding fails with `store.corrupt`.
std::string encode(const LogPosition& position);
Result<LogPosition> decode_log_position(std::string_view bytes);

/// Whether the row belongs to the folder, so that neither the log nor a snapshot may have it.
bool is_row_of_folder(std::string_view absolute_key);

/// The position of a store that has the rows of the base of a log: those with which the cluster was
/// founded, before the log had a commit. `snapshot` is the id of the snapshot that is the base, and
/// `node` is the node that founded the cluster. So all stores with the same base have the same row.
LogPosition base_position(const RandomName& node, const RandomName& snapshot);
/// Whether the position is that of a base.
bool is_base(const LogPosition& position);

/// The error `store.joining` of a store with the row "loading", for all that needs a whole store.
Error joining_error();

}  // namespace millrace
