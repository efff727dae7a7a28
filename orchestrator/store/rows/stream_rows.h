// Stream rows: a number for each event stream whose events the store has applied. A stream that is
// created again under the same name is another stream, whose sequences begin at 1. Rows `stream/`
// of table `meta`. A damaged row gives an error that names it (damage.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// Visits the streams in the order of their numbers. `created` is the time of creation in
/// nanoseconds since the epoch, as in Cursor::stream_created.
Status each_stream(const View& view,
                   const std::function<void(uint32_t number, int64_t created)>& see,
                   const OnDamage& damaged = nullptr);

/// The number of the stream that was created at that time; 0: the store has none.
Result<uint32_t> find_stream(const View& view, int64_t created);

/// The number of the stream that was created at that time. A new stream gets the next number.
Result<uint32_t> number_stream(Transaction& tx, int64_t created);

/// The time of creation in the value of a row. Decoding fails with `store.corrupt`.
Result<int64_t> decode_stream(std::string_view bytes);

}  // namespace millrace
