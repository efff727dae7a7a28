#include "cloudevents/http_binding.h"

#include "cloudevents/binary_mode.h"
#include "cloudevents/errors.h"
#include "cloudevents/json_format.h"

namespace millrace {
namespace {

Result<Event> decode_one(ContentMode mode, const Headers& headers, std::string_view body,
                         const EventLimits& limits) {
  if (mode == ContentMode::kStructured) return decode_json_event(body, limits);
  if (find_header(headers, "ce-datacontenttype") != nullptr) {
    return fail(kEventContentType.code,
                "header \"ce-datacontenttype\" is present; expected \"content-type\" instead (HTTP "
                "binding, section 3.1.1)");
  }
  return decode_binary(headers, body, limits);
}

}  // namespace

Result<std::vector<Event>> decode_http(const Headers& headers, std::string_view body,
                                       const EventLimits& limits) {
  const ContentMode mode = TRY(content_mode(headers));
  if (mode == ContentMode::kBatch) return decode_json_batch(body, limits);
  std::vector<Event> events;
  events.push_back(TRY(decode_one(mode, headers, body, limits)));
  return events;
}

HttpMessage encode_http_binary(const Event& event) {
  return {.headers = encode_binary_headers(event), .body = event.data.value_or("")};
}

}  // namespace millrace
