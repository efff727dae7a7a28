// Call rows: the calls of an instance. Each call has a row next to the instance's head
// (head_rows.h), so that only changed calls are written. Table `live`; an ended instance has no
// calls. instance_rows.h reads and writes the calls with their instance.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The first minor number of a store with calls that have progress, and with tasks that have it.
inline constexpr uint64_t kMinorOfProgress = 9;

/// The bytes of one call. Decoding fails with `store.corrupt`.
std::string encode_call(const Call& call);
Result<Call> decode_call(std::string_view bytes);

/// Reads all elements of `calls`; the head gives their number. `prefix` is the prefix of the
/// instance's keys (rows::instance_prefix). Error: a damaged or missing row.
Status read_calls(const View& view, Table table, const std::string& prefix,
                  std::vector<Call>& calls);

/// The calls from the index `first` on, at most `most`, of an instance whose head has `count`
/// calls. Error: a damaged or missing row.
Result<std::vector<Call>> read_calls_from(const View& view, Table table, const std::string& prefix,
                                          size_t count, size_t first, size_t most);

/// Reads the element of `calls` with that index, if there is one.
Status read_call(const View& view, Table table, const std::string& prefix, size_t index,
                 std::vector<Call>& calls);

/// Which calls of an instance may differ from their rows.
struct ChangedCalls {
  const std::vector<Call>& before;  ///< the calls as the rows have them
  /// If there are no more calls than before: the indexes of those that may differ; null: any. To
  /// compare ten thousand calls takes most of a millisecond.
  const std::vector<size_t>* some = nullptr;
};

/// Writes the calls of the instance that differ from their rows, and erases the rows of calls that
/// do not exist any more. `bytes` is the size of the rows before, not sealed; returns the size of
/// the rows after. `written`, unless it is null, gets the indexes of the calls that were written.
uint64_t write_calls(Transaction& tx, const std::string& prefix, const Instance& instance,
                     const ChangedCalls& changed, uint64_t bytes,
                     std::vector<size_t>* written = nullptr);

}  // namespace millrace
