// Compensation rows: the compensations that an instance has noted and not made, each with its
// number, counted from 0. They are in the table `ended` from the beginning, under the keys that the
// other rows of the instance have there once it has ended: so neither its end nor its next run
// moves them, however many and large they are. Most steps read none of them: the head has how many
// there are. instance_rows.h writes them with their instance.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The first minor number of a store with these rows, and with the fields of a head that belong to
/// them.
inline constexpr uint64_t kMinorOfCompensations = 8;

/// The bytes of one compensation. Decoding fails with `store.corrupt`.
std::string encode_compensation(const Compensation& compensation);
Result<Compensation> decode_compensation(std::string_view bytes);

/// The compensation with that number of the instance, live or ended, which has a row of it. Error:
/// a damaged or missing row.
Result<Compensation> read_compensation(const View& view, const Instance& instance, uint32_t number);

/// Writes the compensations without a row, and erases the rows of those that the instance no longer
/// has; touches no other row. `before` is the number of rows; `bytes` is their size, not sealed.
/// Returns the size of the rows after.
uint64_t write_compensations(Transaction& tx, const Instance& instance, uint32_t before,
                             uint64_t bytes);

/// The size of the rows of an instance, not sealed; reads each of them.
uint64_t compensation_bytes(const View& view, const Instance& instance);

/// Erases the rows of an instance; reads none of them.
void erase_compensations(Transaction& tx, const Instance& instance);

}  // namespace millrace
