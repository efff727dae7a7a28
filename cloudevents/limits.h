// Limits on events from outside. The defaults are those that `/v1/info` shows; a caller may lower
// them.
#pragma once

#include <cstddef>
#include <limits>

namespace millrace {

/// The largest event in bytes: the JSON text in structured mode, body and attribute headers in
/// binary mode.
inline constexpr size_t kMaxEventBytes = size_t{1} << 20;

/// The most events in one batch.
inline constexpr size_t kMaxBatchEvents = 1000;

/// The most extension attributes of one event, besides those that millrace adds
/// (base/own_attributes.h).
inline constexpr size_t kMaxExtensions = 256;

struct EventLimits {
  size_t event_bytes = kMaxEventBytes;
  size_t batch_events = kMaxBatchEvents;  ///< for HTTP and the JSON batch format only
  size_t extensions = kMaxExtensions;
};

/// For events in rows of the store, which an earlier release may have written: it had no limit of
/// attributes.
inline constexpr EventLimits kStoredEvents{.extensions = std::numeric_limits<size_t>::max()};

}  // namespace millrace
