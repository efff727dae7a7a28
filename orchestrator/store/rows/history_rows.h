// History rows: the histories of the instances, one row for each instance and batch with new
// records. A row has the number of the instance's previous row. So the rows of an instance form a
// chain from its head back to its start, or, if the history is trimmed, to its first kept row.
// Table `history`. Functions that read take any View, functions that write the Transaction. A
// damaged row gives an error that names it (damage.h). purge_history() (purge.h) erases the rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/history.h"
#include "model/instance.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The first minor number of a store with records that say who answered a call (AnsweredBy).
inline constexpr uint64_t kMinorOfAnsweredBy = 12;

/// The history of one instance in one batch.
struct HistoryRow {
  NamespaceNumber ns{};
  InstanceId instance;
  /// The number of the instance's previous row; 0: the row is the first of the instance.
  uint64_t previous = 0;
  std::vector<HistoryRecord> records;
  /// The indexes, in ascending order, of the records whose data is the instance's input. The row
  /// does not repeat that data, so a decoded row lacks it.
  std::vector<size_t> with_input;
  Sealing sealed;  ///< whether the row is sealed; not in the encoded bytes
};
/// Decoding fails with `store.corrupt`.
std::string encode(const HistoryRow& row);
Result<HistoryRow> decode_history(std::string_view bytes);

/// Returns the size of the row in bytes, not sealed.
size_t write_history(Transaction& tx, uint64_t number, const HistoryRow& row);

// Trimming: the oldest rows of an instance leave its chain, and a purge erases them.

/// A row of a chain, without its records.
struct HistoryLink {
  NamespaceNumber ns{};
  InstanceId instance;
  uint64_t previous = 0;  ///< HistoryRow::previous
  uint64_t records = 0;   ///< number of records
  uint64_t bytes = 0;     ///< size of the row, not sealed
};
/// nullopt: there is no row of that number. Reads the beginning of the row only, unless it is
/// sealed.
Result<std::optional<HistoryLink>> read_history_link(const View& view, uint64_t number);

/// The row of that number. Error: a damaged row, also if the row is missing.
Result<HistoryRow> read_history_row(const View& view, uint64_t number);

/// How many of the oldest records of the row may go, if its newest records with `records` records
/// or `bytes` bytes stay, whichever is reached first. At least one record stays.
uint64_t droppable_records(const HistoryRow& row, const std::optional<uint64_t>& records,
                           const std::optional<uint64_t>& bytes);

/// Whether a record of the row has data, from the record with the index `first` on.
bool has_data_from(const HistoryRow& row, uint64_t first);

/// Makes an existing row the first of its chain, so that the rows before it are in no chain any
/// more. Returns the new size of the row in bytes, not sealed.
Result<uint64_t> begin_history_at(Transaction& tx, uint64_t number);

/// Makes the stored row of that number, which is `row`, the first of its chain without its oldest
/// `drop` records. Precondition: the row has more records. Returns the new size of the row in
/// bytes, not sealed.
uint64_t begin_history_within(Transaction& tx, uint64_t number, HistoryRow row, uint64_t drop);

/// Whether the row of that number is an older row that was trimmed from the history of the
/// instance, so that it may be erased. False if not all kept rows can be read.
Result<bool> is_trimmed_row(const View& view, const Instance& head, uint64_t number);

// Reading.

/// All kept records of an instance, in order. `instance` must be complete, with its input.
Result<std::vector<HistoryRecord>> read_history(const View& view, const Instance& instance);

/// A kept row of a history. The records of an instance are numbered from 1; a record keeps its
/// number when older records are trimmed.
struct HistoryPlace {
  uint64_t row = 0;      ///< the number of the row
  uint64_t first = 0;    ///< the number of its first record
  uint64_t records = 0;  ///< number of records
};
/// Visits the places of the kept rows of an instance, the newest first, until `see` returns false.
/// Reads the beginning of each row only, unless it is sealed.
Status each_history_place(const View& view, const Instance& instance,
                          const std::function<Result<bool>(const HistoryPlace& place)>& see);

/// The records of one row. `instance` must be complete, with its input.
Result<std::vector<HistoryRecord>> read_history_row(const View& view, const Instance& instance,
                                                    uint64_t number);

}  // namespace millrace
