// Meta rows: the single values of a store (its format, engine time, cursor) and the counters that
// number its rows. Table `meta`; its other rows are in identity.h and purge.h. Functions that read
// take any View, functions that write the Transaction. A damaged row gives an error that names it
// (damage.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "model/cursor.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

// The format.

/// The format that this release writes (docs/FORMATS.md). A store of an older format is migrated
/// when it is opened.
inline constexpr uint64_t kStoreFormat = 6;

/// The minor number of the format. A later release that only adds tables, rows, fields at the end
/// of records or values of a field raises the minor number instead of the format: it opens a store
/// with a lower minor number without a pass over the instances, and a release that does not know
/// the number refuses the store. Row `minor` of table `meta`; without that row, 0. docs/FORMATS.md
/// lists what each number adds.
inline constexpr uint64_t kStoreMinor = 15;

/// The minor number since which the rows of `usage` have the sizes of the counted rows.
inline constexpr uint64_t kMinorOfCountedRows = 2;

/// The format of the store; nullopt: the store has no rows yet. Errors: a damaged row, and those of
/// the store.
Result<std::optional<uint64_t>> read_format(const View& view);

/// The minor number of the format of the store. Errors: a damaged row, and those of the store.
Result<uint64_t> read_minor(const View& view);

/// Checks that this release knows the format of the store and its minor number, and writes nothing.
/// A store without rows and a store of an older format pass. Errors: `store.version`, the format or
/// its minor number is newer; `store.joining`, a snapshot was being loaded into the store; a
/// damaged row, and those of the store.
Status check_known_numbers(const View& view);

/// Checks as check_known_numbers() does, and that the store belongs to no cluster. Errors: those of
/// check_known_numbers(), and `store.cluster`.
Status check_known_format(const View& view);

/// The row that identifies the key of the store's seal; nullopt: the store is empty or has a format
/// without sealed rows. The row shows nothing about the key. Errors: those of the store.
Result<std::optional<std::string>> read_key_row(const View& view);
/// Whether the key of `seal` is the key of the store that has this row.
bool opens_key_row(const Seal& seal, std::string_view row);

/// Checks the secret key of a store that has the row of read_key_row(). Errors: `store.key`, the
/// store was sealed with another key, or lacks the row; those of the store.
Status check_key(Transaction& tx);

/// Sets the format of an empty or older store to kStoreFormat and its minor number to kStoreMinor,
/// and writes the row that identifies the key of its seal. For an older store, requests a build of
/// the index, or of the sizes that it lacks (index_build.h). A store of a cluster must be led
/// (Environment::lead()). Errors: those of check_known_format(); `store.key`, the store was sealed
/// with another key.
Status check_format(Transaction& tx);

// The progress of the store.

/// The bytes of a cursor. Decoding fails with `store.corrupt`.
std::string encode(const Cursor& cursor);
Result<Cursor> decode_cursor(std::string_view bytes);

/// How far the event stream is applied; all zero: no event was applied.
Result<Cursor> read_cursor(const View& view);
void write_cursor(Transaction& tx, const Cursor& cursor);

/// The time of the last committed batch. Engine time is never earlier.
Result<TimePoint> read_engine_time(const View& view);
void write_engine_time(Transaction& tx, TimePoint time);
/// The error of an engine time that contradicts other rows.
Error damaged_engine_time(std::string_view what);

// Counters.

/// Counters of numbers that are assigned once and never reused. Each counter starts at 1.
// On disk, the last byte of the key: never renumber.
enum class Counter : char {
  kNamespace = 'a',
  kWorkflow = 'b',
  kHistory = 'c',
  kOutbox = 'd',
  kDelayed = 'e',
  kGrouped = 'f',
  kKeptEvents = 'g',
  kInbox = 'h',
  kWebhook = 'i',
  kEffects = 'j',
  kSlots = 'k',  ///< of the rows of instances in `queues`
};
inline constexpr size_t kCounters = 11;

/// The number that the counter assigned most recently; 0: the counter has assigned no number yet.
/// Error: a damaged row, if it is above kMostNumber.
Result<uint64_t> read_counter(const View& view, Counter counter);
void write_counter(Transaction& tx, Counter counter, uint64_t last);

/// The number that the counter assigns next. Error: a damaged row, if none is left: the numbers of
/// namespaces and workflows have 32 bits, all others end at kMostNumber.
Result<uint64_t> next_number(const View& view, Counter counter);

/// Checks that no counter is below a number that a row has. Error: a damaged row; such a counter
/// would assign numbers twice.
Status check_counters(const View& view);

}  // namespace millrace
