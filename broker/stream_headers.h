// Reads the messages of a stream, or only their headers, through consumers of its own. Private to
// broker/.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"
#include "broker/pull_window.h"
#include "broker/streams.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

/// The messages of a stream that the broker stored at `since` or later (nullopt: at any time), from
/// the sequence `first` up to the sequence `last`.
struct HeaderRange {
  StreamSettings stream;  ///< only messages on its `subjects`
  StreamInfo info;
  std::optional<TimePoint> since;
  uint64_t last = 0;
  uint64_t first = 1;  ///< not used with `since`
  /// Whether the messages come with their data, and with headers as the broker stored them.
  bool whole = false;
  PullSettings pull = {};
};

/// A message, without its data unless the range is `whole`.
struct StoredHeaders {
  uint64_t sequence = 0;
  int64_t stamped = 0;  ///< when the broker stored the message, in nanoseconds
  /// If the range is not `whole`, nats.c may have misread headers that millrace does not write.
  NatsMessage message;
  uint64_t following = 0;  ///< how many messages follow, as far as the broker has counted them
};

/// Calls `see` for each message of the range, in stream order, each message once, until `see`
/// returns false. Reading continues with another consumer if a consumer ends. Blocks; `stops` is
/// called before each wait for the broker, which takes ConnectionSettings::request_timeout at most.
/// Errors: `broker.unreachable`, `stops` has returned true; those of Connection::api.
Status each_header(Connection& connection, const HeaderRange& range,
                   const std::function<bool()>& stops,
                   const std::function<bool(StoredHeaders)>& see);

}  // namespace millrace
