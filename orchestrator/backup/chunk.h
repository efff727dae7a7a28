// Chunks: the rows of a store as a sequence of encoded write-sets (docs/FORMATS.md, "Backup"). The
// rows are in the order of their absolute keys, and no row is split. The code that reads a chunk
// from a store needs a View and a position, and no file and no commit: so chunks may also be read
// from different views. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "orchestrator/store/disk/table.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The error code of a backup with bytes that millrace does not write.
inline constexpr std::string_view kBackupDamaged = "backup.damaged";

/// The largest size of a chunk in bytes, unless the chunk has a single row that is larger.
inline constexpr size_t kBackupChunkBytes = size_t{512} << 10;

/// The number of rows in each table that has rows, by the name of the table.
using RowCounts = std::map<std::string, uint64_t>;

/// The sum of the counts.
uint64_t sum_of(const RowCounts& rows);

struct BackupChunk {
  std::string bytes;     ///< an encoded write-set of puts; empty: no row to take follows
  std::string last_key;  ///< the absolute key of the last row: the position of the next chunk
};

/// What becomes of a row that read_chunk() finds.
enum class RowChoice : uint8_t {
  kTake,
  kEndTable,  ///< neither this row nor a later one of its table is taken
};
using ChooseRow = std::function<RowChoice(std::string_view absolute_key)>;

/// Reads the rows that follow the absolute key `after`; an empty `after` means from the first row.
/// The rows of the folder (is_row_of_folder() in log_row.h) are left out: another folder has
/// another position in the log of a cluster, or none. `choose` is called for each other row in
/// order; without it, each of them is taken. Errors: those of the view (View::status()).
Result<BackupChunk> read_chunk(const View& view, std::string_view after,
                               size_t most_bytes = kBackupChunkBytes, const ChooseRow& choose = {});

/// Calls `see` for each row of a chunk, in order. The string_views are views into `chunk`. Returns
/// the absolute key of the last row, or `after` if the chunk has no row. Error kBackupDamaged: the
/// bytes are not a write-set of puts, or a key is not one of a known table, or is that of a row of
/// the folder, or the keys do not ascend from `after` on; then the caller must discard the rows
/// that `see` received.
Result<std::string> each_row_of_chunk(
    std::string_view chunk, std::string_view after,
    const std::function<void(Table table, std::string_view key, std::string_view value)>& see);

/// The BLAKE2b-256 hash of a chunk, as 64 hexadecimal digits.
std::string chunk_hash(std::string_view chunk);

}  // namespace millrace
