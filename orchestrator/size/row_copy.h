// Copying rows: copies all rows of a store into a new file of LMDB, and compares the copy with the
// store. The rows are written in the order of their keys, so the pages of the copy are full and
// nearly none is free. For one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "orchestrator/store/disk/lmdb_file.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The error code of a copy that is not equal to the store.
inline constexpr std::string_view kCopyDiffers = "compact.differs";

/// Called every few thousand rows with the number of rows so far; may be empty.
using OnRows = std::function<void(uint64_t rows)>;

/// Writes all rows of `from` into `to`, which must have no rows, and records that `to` has all
/// commits up to from.commit(). Afterwards the rows are synced. Returns their number. Errors: those
/// of the view, of LmdbWriter and of its commit.
Result<uint64_t> copy_rows(const Snapshot& from, LmdbFile& to, const OnRows& copied);

/// Checks all pages of `copy`, and that `copy` has the rows of `from`, each with the same bytes,
/// and no others. Errors: kCopyDiffers, which names the first difference; those of the view and of
/// LmdbFile.
Status check_copy(const Snapshot& from, const LmdbFile& copy, const OnRows& compared);

}  // namespace millrace
