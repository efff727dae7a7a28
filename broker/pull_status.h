// Interprets the status line that the broker sends to our inbox when it has no message for a
// request. Releases of nats-server word these lines differently: only this file knows the wordings,
// and its test lists them. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace millrace {

enum class PullStatus {
  kAlive,         ///< a heartbeat
  kRequestEnded,  ///< the request has ended; the consumer and its other requests continue
  kConsumerLost,  ///< the consumer was deleted or has moved, or its NATS server stops
  kRefused,       ///< the request was not accepted, or the status is unknown
};

/// `code` and `description` are the two parts of the status line. An unknown status counts as
/// kRefused: the consumer is created again, which loses no message, and the log shows the line.
PullStatus classify_pull_status(std::string_view code, std::string_view description);

/// How many messages of `batch` an ended request did not deliver. `pending` is the header
/// Nats-Pending-Messages, or empty. If `pending` is empty, a filled request has 0 messages left,
/// and any other request has `batch` left: to request too many messages is harmless, to request too
/// few is not.
size_t messages_left(std::string_view description, std::string_view pending, size_t batch);

}  // namespace millrace
