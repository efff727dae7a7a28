// Reads the broker's answers to what an append to the log of a cluster sends: acknowledgements,
// STREAM.INFO and STREAM.MSG.GET. Pure. Private to broker/.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

/// The stream has stored the message.
struct LogStored {
  uint64_t sequence = 0;
};
/// The stream has refused the message, because its last sequence is not the expected one.
struct LogOutOfOrder {
  std::optional<uint64_t> last;  ///< the last sequence; nullopt: the broker does not name it
};
/// The Error has the code `broker.refused` or `broker.protocol`.
using LogAck = std::variant<LogStored, LogOutOfOrder, Error>;

/// Reads the answer to a publication. `stream`: the name of the stream that has to answer.
LogAck read_log_ack(std::string_view stream, std::string_view answer);

/// The last sequence in the answer to STREAM.INFO, which was sent to `subject`. Errors: those of
/// check_api_answer(); `broker.protocol`.
Result<uint64_t> read_log_end(std::string_view subject, std::string_view answer);

/// The message in the answer to STREAM.MSG.GET for that sequence, which was sent to `subject`;
/// nullopt: the stream has no such message. Errors: those of check_api_answer(); `broker.protocol`.
Result<std::optional<NatsMessage>> read_log_entry(std::string_view subject, uint64_t sequence,
                                                  std::string_view answer);

}  // namespace millrace
