// History rows: the history of the instances, a row for each batch in which one moved. A row has
// the number of its instance's row before it, so the rows of one make a chain from its head to its
// start. Table `history`. Reading takes any View, writing the Transaction. A row that is damaged is
// an error that names it (damage.h). They are erased by purge_history() (purge.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/history.h"
#include "model/instance.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The history of one instance in one batch.
struct HistoryRow {
  NamespaceNumber space{};
  InstanceId instance;
  uint64_t previous = 0;  ///< number of its row before this one; 0: this is the first
  std::vector<HistoryRecord> records;
  /// The places of records, rising, whose data is the instance's input: it is not in the row, and
  /// missing when it is read.
  std::vector<size_t> with_input;
  bool sealed = false;  ///< not in the bytes: they are sealed in their row
};
/// Decoding fails with `store.corrupt`.
std::string encode(const HistoryRow& row);
Result<HistoryRow> decode_history(std::string_view bytes);

void write_history(Transaction& tx, uint64_t number, const HistoryRow& row);
/// All records of an instance, which is whole, in order.
Result<std::vector<HistoryRecord>> read_history(const View& view, const Instance& instance);

}  // namespace millrace
