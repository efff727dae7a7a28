#include "broker/stored_message.h"

#include <optional>
#include <utility>

#include "base/bytes.h"
#include "broker/json_fields.h"
#include "broker/streams.h"
#include "broker/wire.h"

namespace millrace {

Result<StoredMessage> fetch_stored(Connection& connection, std::string_view stream,
                                   const Json& query) {
  return read_stored(TRY(connection.api("STREAM.MSG.GET." + std::string(stream), query)));
}

std::string delete_request(uint64_t sequence) {
  return dump_json({{"seq", sequence}, {"no_erase", true}});
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
