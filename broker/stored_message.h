// Fetches one message from the broker with STREAM.MSG.GET. The answer has every byte of the stored
// headers; delivery through nats.c loses some.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

struct StoredMessage {
  uint64_t sequence = 0;
  int64_t stamped = 0;  ///< when the broker stored the message, in nanoseconds
  NatsMessage message;
};

/// Converts the broker's nanoseconds into millrace's time; fractions of a millisecond are cut off.
inline TimePoint broker_time(int64_t nanoseconds) {
  return std::chrono::floor<Duration>(
      std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(nanoseconds)));
}

/// `query` is the body of the API request: {"seq":n} for that message; {"seq":n,"next_by_subj":s}
/// for the first message of subject `s` with sequence `n` or higher; {"last_by_subj":s} for the
/// newest message of `s`. Errors: `broker.not_found`, and those of Connection::api.
Result<StoredMessage> fetch_stored(Connection& connection, std::string_view stream,
                                   const Json& query);

/// The body of STREAM.MSG.GET for the message with that sequence.
std::string get_request(uint64_t sequence);
/// The body of STREAM.MSG.GET for the first message of that subject.
std::string get_first_request(std::string_view subject);
/// Whether the stream has the message: reads the answer to STREAM.MSG.GET, which was sent to
/// `subject`. Errors: those of check_api_answer; `broker.not_found`: the stream does not exist.
Result<bool> read_whether_stored(std::string_view subject, std::string_view answer);

/// The body of STREAM.MSG.DELETE. The message is deleted, but its bytes stay on disk until they are
/// overwritten.
std::string delete_request(uint64_t sequence);

/// Removes messages of the stream. `which`: the body of STREAM.PURGE. Errors: those of
/// Connection::api.
Status purge(Connection& connection, std::string_view stream, const Json& which);

/// Removes the messages of the stream before that sequence. Precondition: `sequence` > 1, because
/// the broker takes 0 and 1 for the whole stream, and at most the last sequence of the stream + 1.
/// Errors: those of Connection::api.
Status purge_before(Connection& connection, std::string_view stream, uint64_t sequence);

/// Reads the answer to fetch_stored's request. Error `broker.protocol`.
Result<StoredMessage> read_stored(const Json& answer);

}  // namespace millrace
