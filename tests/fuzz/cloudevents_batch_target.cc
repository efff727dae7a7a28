// Events in the JSON batch format.
// Covers: cloudevents/json_format.cc cloudevents/json_text.cc cloudevents/http_binding.cc
#include <string>
#include <vector>

#include "cloudevents/http_binding.h"
#include "cloudevents/json_format.h"
#include "tests/fuzz/event_mutator.h"
#include "tests/fuzz/event_properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {

FUZZ_MUTATOR(cloudevents_batch, mutate_batch);

FUZZ_TARGET(cloudevents_batch) {
  // The limits are low, so that a short input exceeds them.
  const EventLimits limits{.event_bytes = 512, .batch_events = 6};
  const Result<std::vector<Event>> events = decode_json_batch(bytes, limits);
  const Headers headers = {{"Content-Type", "application/cloudevents-batch+json; charset=UTF-8"}};
  CHECK(decode_http(headers, bytes, limits) == events, "the HTTP binding reads other events");
  if (!events) return;
  CHECK(events->size() <= limits.batch_events);
  std::string batch = "[";
  for (const Event& event : *events) {
    check_decoded(event);
    if (batch.size() > 1) batch += ",";
    batch += encode_json_event(event);
  }
  batch += "]";
  const Result<std::vector<Event>> again = decode_json_batch(batch, {.batch_events = 6});
  CHECK(again, "the encoded batch is refused: {}: {}", again.error().message, batch);
  CHECK(again->size() == events->size());
  for (size_t i = 0; i < events->size(); ++i) {
    const Result<Event> alone = decode_json_event(encode_json_event((*events)[i]));
    CHECK(alone && *alone == (*again)[i], "event {} differs in a batch: {}", i, batch);
  }
}

}  // namespace millrace::fuzz
