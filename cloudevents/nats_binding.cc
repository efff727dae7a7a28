#include "cloudevents/nats_binding.h"

#include "cloudevents/binary_mode.h"
#include "cloudevents/errors.h"
#include "cloudevents/json_format.h"

namespace millrace {

Result<Event> decode_nats(const NatsMessage& message, const EventLimits& limits) {
  switch (TRY(content_mode(message.headers))) {
    case ContentMode::kStructured:
      return decode_json_event(message.data, limits);
    case ContentMode::kBinary:
      return decode_binary(message.headers, message.data, limits);
    case ContentMode::kBatch:
      break;
  }
  return fail(kEventUnsupportedFormat.code,
              "the message is a batch, which the NATS binding does not define; expected one event "
              "per message: application/cloudevents+json");
}

NatsMessage encode_nats(const Event& event) {
  return {.headers = {{"content-type", std::string(kStructuredContentType)}},
          .data = encode_json_event(event)};
}

}  // namespace millrace
