#include "tests/fuzz/event_properties.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "cloudevents/binary_mode.h"
#include "cloudevents/encoded_event.h"
#include "cloudevents/event_check.h"
#include "cloudevents/http_binding.h"
#include "cloudevents/json_format.h"
#include "cloudevents/json_text.h"
#include "cloudevents/media_type.h"
#include "cloudevents/nats_binding.h"

namespace millrace::fuzz {
namespace {

/// An encoded event may be larger than the event that was decoded.
constexpr EventLimits kNoLimit{.event_bytes = size_t{1} << 40};

Event without_data(Event event) {
  event.data.reset();
  return event;
}

/// The event as a receiver of the binary mode sees it: extension attributes are text, the content
/// type has no blanks around it, empty data is no data, and JSON data has a content type.
Event as_in_binary_mode(Event event) {
  for (auto& [name, value] : event.extensions) value = *attribute(event, name);
  if (event.datacontenttype) {
    event.datacontenttype = std::string(trim_blanks(*event.datacontenttype));
  } else if (event.data && is_json_text(*event.data)) {
    event.datacontenttype = "application/json";
  }
  if (event.data && event.data->empty()) event.data.reset();
  return event;
}

/// The JSON format removes the white space of JSON data, and nothing else.
void check_json_form(const Event& event) {
  const std::string text = encode_json_event(event);
  const Result<Event> again = decode_json_event(text, kNoLimit);
  CHECK(again, "the encoded event is refused: {}: {}", again.error().message, text);
  CHECK(without_data(*again) == without_data(event), "the attributes change: {}", text);
  CHECK(again->data.has_value() == event.data.has_value(), "the data appears or goes: {}", text);
  CHECK(payload(*again) == payload(event), "the data changes: {}", text);
  CHECK(encode_json_event(*again) == text, "the second encoding differs: {}", text);
  CHECK(event_to_json(event).is_object());
  NatsMessage message = encode_nats(event);
  const Result<Event> over_nats = decode_nats(message, kNoLimit);
  CHECK(over_nats && *over_nats == *again, "the NATS binding reads another event: {}", text);
}

void check_binary_form(const Event& event) {
  const HttpMessage message = encode_http_binary(event);
  for (const auto& [name, value] : message.headers) {
    for (const char c : name + value) CHECK(c >= 0x20 && c < 0x7f, "in header {}", name);
  }
  // Data whose content type is that of an event cannot be sent in binary mode: a receiver reads the
  // data as the event.
  const Result<ContentMode> mode = content_mode(message.headers);
  if (event.datacontenttype && (!mode || *mode != ContentMode::kBinary)) {
    const std::optional<MediaType> media = parse_media_type(*event.datacontenttype);
    CHECK(media && media->essence.starts_with("application/cloudevents"));
    return;
  }
  CHECK(mode && *mode == ContentMode::kBinary);
  const EventLimits limits = kNoLimit;
  const Result<std::vector<Event>> again = decode_http(message.headers, message.body, limits);
  // JSON is not required of data that says it is JSON: `data_base64` may hold any bytes. In binary
  // mode, such data is refused.
  if (!again && again.error().code == "event.malformed_data") return;
  CHECK(again, "the binary form is refused: {}", again.error().message);
  CHECK(again->size() == 1);
  CHECK(again->front() == as_in_binary_mode(event), "the binary form is another event: {}",
        encode_json_event(event));
}

}  // namespace

void check_decoded(const Event& event) {
  const Status checked = check_event(event);
  CHECK(checked, "a decoder accepts an event that is not valid: {}", checked.error().message);
  check_same_attributes(Attributes(event), event);
  CHECK(EncodedEvent(event).event() == event);
  check_json_form(event);
  check_binary_form(event);
}

void check_same_attributes(const Attributes& attributes, const Event& event) {
  CHECK(attributes.event() == without_data(event), "the attributes are not those of {}",
        encode_json_event(event));
  CHECK(attributes.type() == event.type);
  for (const auto& [name, value] : event.extensions) {
    CHECK(attributes.find(name) == attribute(event, name), "attribute {}", name);
  }
}

}  // namespace millrace::fuzz
