// One event in the JSON format.
// Covers: cloudevents/json_format.cc cloudevents/json_text.cc cloudevents/event_builder.cc
// Covers: cloudevents/event_check.cc cloudevents/plain_event.cc cloudevents/uri.cc
// Covers: cloudevents/encoded_event.cc cloudevents/media_type.cc base/json.cc base/json_scan.cc
#include <optional>
#include <string>

#include "base/attributes.h"
#include "cloudevents/encoded_event.h"
#include "cloudevents/json_format.h"
#include "cloudevents/nats_binding.h"
#include "cloudevents/plain_event.h"
#include "tests/fuzz/event_mutator.h"
#include "tests/fuzz/event_properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {

FUZZ_MUTATOR(cloudevents_json, mutate_event);

FUZZ_TARGET(cloudevents_json) {
  const Result<Event> event = decode_json_event(bytes);
  const std::optional<Attributes> plain = read_plain_json(bytes);
  CHECK(event || !plain, "only the fast path accepts the event: {}", event.error().message);
  if (plain) check_same_attributes(*plain, *event);

  NatsMessage message{.data = std::string(bytes)};
  const Result<EncodedEvent> encoded = EncodedEvent::take(message);
  CHECK(encoded.has_value() == event.has_value());
  if (!event) {
    CHECK(encoded.error() == event.error(), "the errors differ: {}", encoded.error().message);
    return;
  }
  CHECK(encoded->event() == *event, "EncodedEvent holds another event");
  check_decoded(*event);
}

}  // namespace millrace::fuzz
