// Compensation rows: the compensations that an instance has noted and not made. Each has a row next
// to the instance's head (head_rows.h), with its number, counted from 0. Most steps read none of
// them: the head has how many there are. Tables `live` and `ended`. instance_rows.h writes them
// with their instance.
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
/// has. If the instance has ended, moves the others from `live` to `ended`. `before` is the number
/// of rows in `live`; `bytes` is their size, not sealed. Returns the size of the rows after.
uint64_t write_compensations(Transaction& tx, const Instance& instance, uint32_t before,
                             uint64_t bytes);

/// Moves the rows of an ended instance from `ended` to `live`, for its next run. Does not decode
/// them: a damaged or missing row must not prevent the run, which may never need it.
void revive_compensations(Transaction& tx, const Instance& ended);

/// Erases the rows of an ended instance.
void erase_compensations(Transaction& tx, const Instance& ended);

}  // namespace millrace
