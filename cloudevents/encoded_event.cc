#include "cloudevents/encoded_event.h"

#include <utility>

#include "cloudevents/binary_mode.h"
#include "cloudevents/json_format.h"
#include "cloudevents/plain_event.h"

namespace millrace {
namespace {

/// The attributes of the message if the fast path is sure that it is a valid event; else nullopt.
std::optional<Attributes> read_plain(ContentMode mode, const NatsMessage& message,
                                     size_t max_bytes) {
  if (mode == ContentMode::kStructured && message.data.size() <= max_bytes) {
    return read_plain_json(message.data);
  }
  if (mode == ContentMode::kBinary && binary_size(message.headers, message.data) <= max_bytes) {
    std::optional<Attributes> attributes = read_plain_headers(message.headers);
    if (!attributes) return attributes;
    const std::optional<std::string_view> type = attributes->find("datacontenttype");
    const std::optional<std::string> declared =
        type ? std::optional<std::string>(*type) : std::nullopt;
    if (has_declared_data(declared, message.data)) return attributes;
  }
  return std::nullopt;
}

}  // namespace

EncodedEvent::EncodedEvent(Event event)
    : attributes_(event), bytes_(std::move(event.data)), data_json_(event.data_json) {}

Result<EncodedEvent> EncodedEvent::take(NatsMessage& message, const EventLimits& limits) {
  const ContentMode mode = TRY(content_mode(message.headers));
  std::optional<Attributes> attributes = read_plain(mode, message, limits.event_bytes);
  if (!attributes) return EncodedEvent(TRY(decode_nats(message, limits)));
  EncodedEvent taken;
  taken.attributes_ = std::move(*attributes);
  taken.is_json_event_ = mode == ContentMode::kStructured;
  if (!message.data.empty()) taken.bytes_ = std::move(message.data);
  return taken;
}

Event EncodedEvent::event() const {
  Event event = attributes_.event();
  event.data = is_json_event_ ? json_event_data(*bytes_, event.datacontenttype) : bytes_;
  event.data_json = data_json_;
  return event;
}

}  // namespace millrace
