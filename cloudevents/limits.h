// How much is taken in at once. The defaults are those of `/v1/info`; a server may lower them.
#pragma once

#include <cstddef>

namespace millrace {

/// The largest event: the JSON text in structured mode, body and attribute headers in binary mode.
inline constexpr size_t kMaxEventBytes = size_t{1} << 20;

/// The longest batch.
inline constexpr size_t kMaxBatchEvents = 1000;

struct EventLimits {
  size_t event_bytes = kMaxEventBytes;
  size_t batch_events = kMaxBatchEvents;  ///< HTTP and the JSON batch format only
};

}  // namespace millrace
