// What a server says to a request for messages when it sends no message: the status line of a
// message to our inbox. Servers have added texts over the years, so what they mean is decided here
// alone, by the tables that the test has. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace millrace {

enum class PullStatus {
  kAlive,         ///< a heartbeat
  kRequestEnded,  ///< the request is over; the consumer and its other requests go on
  kConsumerLost,  ///< the consumer was deleted or has moved, or its server stops
  kRefused,       ///< the request was not accepted, or the status is not known here
};

/// `code` and `description` are the two parts of the status line. A status that is not known counts
/// as kRefused: the consumer is made again, which loses nothing, and the log shows the line.
PullStatus classify_pull_status(std::string_view code, std::string_view description);

/// How many messages an ended request had left, of `batch`. `pending` is the header
/// Nats-Pending-Messages, empty where there is none: then a request that was filled had none left,
/// and any other all, since to ask for too much is harmless and to ask for too little is not.
size_t messages_left(std::string_view description, std::string_view pending, size_t batch);

}  // namespace millrace
