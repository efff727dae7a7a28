// Reads the headers of the messages of a stream, without their data, through consumers of its own.
// Private to broker/.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"
#include "broker/streams.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

/// The messages of a stream that the broker stored at `since` or later (nullopt: at any time), up
/// to the sequence `last`.
struct HeaderRange {
  StreamSettings stream;
  StreamInfo info;
  std::optional<TimePoint> since;
  uint64_t last = 0;
};

/// A message without its data.
struct StoredHeaders {
  uint64_t sequence = 0;
  NatsMessage message;     ///< nats.c may have misread headers that millrace does not write
  uint64_t following = 0;  ///< how many messages follow, as far as the broker has counted them
};

/// Calls `see` for each message of the range, in stream order, each message once, until `see`
/// returns false. Reading continues with another consumer if a consumer ends. Blocks; `stops` is
/// called before each wait for the broker, which takes ConnectionSettings::request_timeout at most.
/// Errors: `broker.unreachable`, `stops` has returned true; those of Connection::api.
Status each_header(Connection& connection, const HeaderRange& range,
                   const std::function<bool()>& stops,
                   const std::function<bool(const StoredHeaders&)>& see);

}  // namespace millrace
