#include "broker/stored_message.h"

#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"
#include "broker/json_fields.h"
#include "broker/streams.h"
#include "broker/wire.h"

namespace millrace {
namespace {

/// JetStream's code for a message that its stream does not have.
constexpr int64_t kNoMessageFound = 10037;

}  // namespace

Result<StoredMessage> fetch_stored(Connection& connection, std::string_view stream,
                                   const Json& query) {
  return read_stored(TRY(connection.api("STREAM.MSG.GET." + std::string(stream), query)));
}

std::string get_request(uint64_t sequence) { return dump_json({{"seq", sequence}}); }

std::string get_first_request(std::string_view subject) {
  return dump_json({{"seq", 1}, {"next_by_subj", subject}});
}

Result<bool> read_whether_stored(std::string_view subject, std::string_view answer) {
  const Json read = parse_json(answer).value_or(Json());
  if (integer_field(field(read, "error"), "err_code") == kNoMessageFound) return false;
  TRY(check_api_answer(subject, read));
  return true;
}

std::string delete_request(uint64_t sequence) {
  return dump_json({{"seq", sequence}, {"no_erase", true}});
}

Status purge(Connection& connection, std::string_view stream, const Json& which) {
  TRY(connection.api("STREAM.PURGE." + std::string(stream), which));
  return {};
}

Status purge_before(Connection& connection, std::string_view stream, uint64_t sequence) {
  CHECK(sequence > 1, "a purge before {} would remove all messages", sequence);
  return purge(connection, stream, {{"seq", sequence}});
}

Result<StoredMessage> read_stored(const Json& answer) {
  const Json& message = field(answer, "message");
  StoredMessage stored;
  stored.sequence = count_field(message, "seq");
  stored.stamped = TRY(parse_nanoseconds(text_field(message, "time")));
  stored.message.subject = text_field(message, "subject");
  std::optional<std::string> headers = base64_decode(text_field(message, "hdrs"));
  std::optional<std::string> data = base64_decode(text_field(message, "data"));
  if (!headers || !data) {
    return fail("broker.protocol", "the headers or data of a stored message are not Base64");
  }
  stored.message.headers = parse_header_block(*headers);
  stored.message.data = *std::move(data);
  return stored;
}

}  // namespace millrace
