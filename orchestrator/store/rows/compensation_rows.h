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

/// How many rows of compensations that an instance drops are erased in the commit that drops them.
/// The others are erased by a purge (Purge::Kind::kCompensations), in portions. Until then they are
/// rows whose number is not below the number of the compensations of the head, and count for
/// nothing; a compensation that is noted meanwhile takes the place of such a row.
inline constexpr uint32_t kErasedCompensations = 64;

/// The rows of compensations after a write.
struct WrittenCompensations {
  uint64_t bytes = 0;     ///< their size, not sealed
  bool has_left = false;  ///< a purge must erase rows that the instance has dropped
};
/// Writes the compensations without a row, and erases the rows of those that the instance no longer
/// has, at most `most` if it has dropped all that had a row; touches no other row. `before` is the
/// number of rows; `bytes` is their size, not sealed.
WrittenCompensations write_compensations(Transaction& tx, const Instance& instance, uint32_t before,
                                         uint64_t bytes, uint32_t most);

/// The size of the rows of the compensations that an instance has, not sealed; reads each of them.
uint64_t compensation_bytes(const View& view, const Instance& instance);
/// Whether the row belongs to a compensation that the instance has. `number`: the end of its key,
/// behind the part.
bool is_of_compensation(const Instance& instance, std::string_view number);

/// Erases at most `most` rows of an instance, and reads none of them. Returns whether a purge must
/// erase others.
bool erase_compensations(Transaction& tx, const Instance& instance, uint32_t most);

}  // namespace millrace
