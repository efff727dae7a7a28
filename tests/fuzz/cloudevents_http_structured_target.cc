// A message of HTTP whose first line is its content type, and whose other bytes are the body: an
// event or a batch in the JSON format.
// Covers: cloudevents/http_binding.cc cloudevents/binary_mode.cc cloudevents/media_type.cc
// Covers: cloudevents/json_format.cc
#include <string>
#include <vector>

#include "cloudevents/binary_mode.h"
#include "cloudevents/http_binding.h"
#include "cloudevents/json_format.h"
#include "cloudevents/media_type.h"
#include "tests/fuzz/event_mutator.h"
#include "tests/fuzz/event_properties.h"
#include "tests/fuzz/headed_input.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {

FUZZ_MUTATOR(cloudevents_http_structured, mutate_event);

FUZZ_TARGET(cloudevents_http_structured) {
  std::string_view body = bytes;
  const std::string type(take_line(body));
  Headers headers;
  if (!type.empty()) headers.emplace_back("content-type", type);
  const Result<ContentMode> mode = content_mode(headers);
  const Result<std::vector<Event>> events = decode_http(headers, body);
  if (!mode) {
    CHECK(!events && events.error() == mode.error());
    return;
  }
  if (!type.empty()) CHECK(parse_media_type(type), "an invalid media type is accepted: {}", type);
  switch (*mode) {
    case ContentMode::kStructured: {
      const Result<Event> event = decode_json_event(body);
      CHECK(event.has_value() == events.has_value());
      if (!event) {
        CHECK(events.error() == event.error());
        return;
      }
      CHECK(events->size() == 1 && events->front() == *event);
      check_decoded(*event);
      return;
    }
    case ContentMode::kBatch:
      CHECK(decode_json_batch(body) == events);
      return;
    case ContentMode::kBinary:  // no attribute is given
      CHECK(!events && events.error().code == "event.missing_attribute");
      return;
  }
}

}  // namespace millrace::fuzz
