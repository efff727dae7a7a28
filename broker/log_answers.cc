#include "broker/log_answers.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "base/whole_number.h"
#include "broker/connection.h"
#include "broker/json_fields.h"
#include "broker/stored_message.h"

namespace millrace {
namespace {

// JetStream's codes: the last sequence is not the expected one (the second one does not name it);
// the stream has no message with that sequence.
constexpr int64_t kWrongLastSequence = 10071;
constexpr int64_t kWrongLastSequenceUnnamed = 10164;
constexpr int64_t kNoSuchEntry = 10037;

/// The number at the end of "wrong last sequence: 17".
std::optional<uint64_t> last_number(std::string_view description) {
  const size_t blank = description.rfind(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  return whole_number(description.substr(blank + 1));
}

}  // namespace

LogAck read_log_ack(std::string_view stream, std::string_view answer) {
  const Json read = parse_json(answer).value_or(Json());
  if (const Json& error = field(read, "error"); error.is_object()) {
    const int64_t code = integer_field(error, "err_code");
    const std::string description = text_field(error, "description");
    if (code == kWrongLastSequence || code == kWrongLastSequenceUnnamed) {
      return LogOutOfOrder{last_number(description)};
    }
    return Error{"broker.refused",
                 fmt::format("stream {} refused a message: {} ({})", stream, description, code)};
  }
  const uint64_t sequence = count_field(read, "seq");
  if (sequence > 0 && text_field(read, "stream") == stream) return LogStored{sequence};
  return Error{"broker.protocol",
               fmt::format("an acknowledgement has no sequence, or is not of stream {}", stream)};
}

Result<uint64_t> read_log_end(std::string_view subject, std::string_view answer) {
  const Json read = parse_json(answer).value_or(Json());
  TRY(check_api_answer(subject, read));
  const Json& last = field(field(read, "state"), "last_seq");
  if (last.is_number_unsigned()) return last.get<uint64_t>();
  return fail("broker.protocol",
              fmt::format("request to {}: the answer has no state.last_seq", subject));
}

Result<std::optional<NatsMessage>> read_log_entry(std::string_view subject, uint64_t sequence,
                                                  std::string_view answer) {
  const Json read = parse_json(answer).value_or(Json());
  if (integer_field(field(read, "error"), "err_code") == kNoSuchEntry) {
    return std::optional<NatsMessage>();
  }
  TRY(check_api_answer(subject, read));
  StoredMessage stored = TRY(read_stored(read));
  if (stored.sequence == sequence) return std::optional(std::move(stored.message));
  return fail("broker.protocol",
              fmt::format("request to {}: the answer has message {}; expected {}", subject,
                          stored.sequence, sequence));
}

}  // namespace millrace
