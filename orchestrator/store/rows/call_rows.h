// Call rows: the calls of an instance, a row each beside its head (head_rows.h), so that a call
// that changes is written alone. Table `live`; an instance that has ended has none. They are read
// and written with their instance (instance_rows.h): others need only the bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The bytes of one call. Decoding fails with `store.corrupt`.
std::string encode_call(const Call& call);
Result<Call> decode_call(std::string_view bytes);

/// Reads all of `calls`, whose number the head gives. `prefix` is that of the instance's keys
/// (rows::instance_prefix). Error: a damaged row, also where one is missing.
Status read_calls(const View& view, Table table, const std::string& prefix,
                  std::vector<Call>& calls);

/// Writes those calls of the instance that are not as `before`, which is what the rows have, and
/// erases the rows of those that are gone.
void write_calls(Transaction& tx, const std::string& prefix, const Instance& instance,
                 const std::vector<Call>& before);

}  // namespace millrace
