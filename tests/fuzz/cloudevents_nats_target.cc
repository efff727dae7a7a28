// A message of NATS with an event in structured or binary mode: a block of headers as the broker
// sends it, if the input begins with its version, and the data.
// Covers: cloudevents/nats_binding.cc cloudevents/encoded_event.cc cloudevents/binary_mode.cc
// Covers: cloudevents/plain_event.cc cloudevents/subject.cc broker/wire.cc broker/incoming.cc
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "broker/incoming.h"
#include "broker/wire.h"
#include "cloudevents/encoded_event.h"
#include "cloudevents/nats_binding.h"
#include "cloudevents/plain_event.h"
#include "cloudevents/subject.h"
#include "tests/fuzz/event_mutator.h"
#include "tests/fuzz/event_properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {

FUZZ_MUTATOR(cloudevents_nats, mutate_event);

FUZZ_TARGET(cloudevents_nats) {
  NatsMessage message{.subject = event_subject("default", "t")};
  std::string_view data = bytes;
  if (bytes.starts_with("NATS/1.0")) {
    const size_t end = std::min(bytes.find("\r\n\r\n"), bytes.size());
    message.headers = parse_header_block(bytes.substr(0, end));
    data.remove_prefix(std::min(end + 4, bytes.size()));
  }
  message.data = std::string(data);

  const Result<Event> event = decode_nats(message);
  NatsMessage taken_from = message;
  const Result<EncodedEvent> taken = EncodedEvent::take(taken_from);
  CHECK(taken.has_value() == event.has_value());
  const Delivery delivery = read_delivery(message, {.sequence = 7});
  if (!event) {
    CHECK(taken.error() == event.error(), "the errors differ: {}", taken.error().message);
    CHECK(taken_from.data == message.data, "the data of a malformed message is gone");
    const auto* const unreadable = std::get_if<UnreadableInput>(&delivery);
    CHECK(unreadable != nullptr && unreadable->reason == event.error());
    return;
  }
  CHECK(taken->event() == *event, "EncodedEvent holds another event");
  check_same_attributes(taken->attributes(), *event);
  const auto* const input = std::get_if<EventInput>(&delivery);
  CHECK(input != nullptr && input->ns == "default" && input->event.event() == *event);
  check_decoded(*event);

  const std::string subject = event_subject("a.b*", event->type);
  CHECK(is_publish_subject(subject), "\"{}\" is not a subject", subject);
  CHECK(subject_namespace(subject) == "a.b*", "\"{}\" names another namespace", subject);
}

}  // namespace millrace::fuzz
