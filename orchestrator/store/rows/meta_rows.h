// Meta rows: the single values of a store (its format, engine time, cursor) and the counters that
// number its rows. Table `meta`; its other rows are in identity.h and purge.h. Reading takes any
// View, writing the Transaction. A row that is damaged is an error that names it (damage.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "model/cursor.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

// The format.

/// The format that this program writes (docs/FORMATS.md). Older ones are migrated at open.
inline constexpr uint64_t kStoreFormat = 5;

/// Brings an empty store, or one of an older format, to this one's, with a row by which the key of
/// its seal is known; refuses a newer one (`store.version`), and another key (`store.key`).
Status check_format(Transaction& tx);

// How far the store has come.

/// The bytes of a cursor. Decoding fails with `store.corrupt`.
std::string encode(const Cursor& cursor);
Result<Cursor> decode_cursor(std::string_view bytes);

/// How far the event stream was applied; all zero: nothing of it was.
Result<Cursor> read_cursor(const View& view);
void write_cursor(Transaction& tx, const Cursor& cursor);

/// The time of the last committed batch; engine time never falls behind it.
Result<TimePoint> read_engine_time(const View& view);
void write_engine_time(Transaction& tx, TimePoint time);
/// The error of an engine time that does not fit other rows.
Error damaged_engine_time(std::string_view what);

// Counters.

/// Numbers that are given once and never again, each from 1.
// On disk, the last byte of the key: never renumber.
enum class Counter : char {
  kNamespace = 'a',
  kWorkflow = 'b',
  kHistory = 'c',
  kOutbox = 'd',
  kDelayed = 'e',
  kGrouped = 'f',
  kRecent = 'g',
  kInbox = 'h',
  kHook = 'i',
};

/// The last number that was given; 0: none was. Error: a damaged row, where it is above
/// kMostNumber.
Result<uint64_t> read_counter(const View& view, Counter counter);
void write_counter(Transaction& tx, Counter counter, uint64_t last);

/// The one behind the last. Error: a damaged row, where none is left, of the 32 bits that those of
/// namespaces and workflows have, or of kMostNumber.
Result<uint64_t> next_number(const View& view, Counter counter);

/// Whether every counter is at or above all numbers that rows have. What is wrong is the error of a
/// damaged row: from such a counter numbers would be given twice.
Status check_counters(const View& view);

}  // namespace millrace
