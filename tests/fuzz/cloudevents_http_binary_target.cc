// A message of HTTP with one event in binary mode: headers, an empty line, and the body
// (headed_input.h).
// Covers: cloudevents/binary_mode.cc cloudevents/http_binding.cc cloudevents/headers.cc
// Covers: cloudevents/percent.cc cloudevents/media_type.cc cloudevents/plain_event.cc
#include <optional>
#include <vector>

#include "base/attributes.h"
#include "cloudevents/binary_mode.h"
#include "cloudevents/http_binding.h"
#include "cloudevents/plain_event.h"
#include "tests/fuzz/event_properties.h"
#include "tests/fuzz/headed_input.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {

FUZZ_TARGET(cloudevents_http_binary) {
  const HeadedInput input = read_headed_input(bytes);
  const std::optional<Attributes> plain = read_plain_headers(input.headers);
  const Result<Event> without_body = decode_binary(input.headers, "");
  CHECK(without_body || !plain, "only the fast path accepts the headers: {}",
        without_body.error().message);
  if (plain) check_same_attributes(*plain, *without_body);

  const Result<std::vector<Event>> events = decode_http(input.headers, input.body);
  const Result<ContentMode> mode = content_mode(input.headers);
  CHECK(mode || !events);
  if (!events) return;
  CHECK(*mode == ContentMode::kBatch || events->size() == 1);
  for (const Event& event : *events) check_decoded(event);
  if (*mode != ContentMode::kBinary) return;
  CHECK(decode_binary(input.headers, input.body) == events->front());
  const size_t size = binary_size(input.headers, input.body);
  CHECK(decode_http(input.headers, input.body, {.event_bytes = size}).has_value());
  const Result<std::vector<Event>> limited =
      decode_http(input.headers, input.body, {.event_bytes = size - 1});
  CHECK(!limited && limited.error().code == "event.too_large");
}

}  // namespace millrace::fuzz
