// Properties over made-up events and over damaged texts, from fixed seeds.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "cloudevents/event_check.h"
#include "cloudevents/http_binding.h"
#include "cloudevents/json_format.h"
#include "cloudevents/json_text.h"
#include "cloudevents/nats_binding.h"
#include "tests/unit/cloudevents/event_maker.h"

namespace millrace {
namespace {

/// Outside strings, bytes that happen to be JSON may hold white space, which encoding takes out.
bool holds_loose_json(const Event& event) {
  return event.data && is_json_content_type(event.datacontenttype) && is_json_text(*event.data) &&
         compact_json(*event.data) != *event.data;
}

TEST(RoundTrip, OfTheJsonFormatIsTheIdentity) {
  EventMaker maker(1);
  for (int round = 0; round < 5000; ++round) {
    const Event event = maker.event();
    ASSERT_TRUE(check_event(event)) << check_event(event).error().message;
    if (holds_loose_json(event)) continue;
    const std::string text = encode_json_event(event);
    const Result<Event> again = decode_json_event(text);
    ASSERT_TRUE(again) << text << "\n" << again.error().message;
    ASSERT_EQ(*again, event) << text;
    ASSERT_EQ(decode_nats(encode_nats(event)), event) << text;
  }
}

TEST(RoundTrip, KeepsThePayloadOfJsonWithWhiteSpace) {
  Event event{.id = "1", .source = "/s", .type = "t"};
  event.data = " {\"a\" : [1, 2]}\n";
  const Result<Event> again = decode_json_event(encode_json_event(event));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->data, "{\"a\":[1,2]}");
  EXPECT_EQ(payload(*again), payload(event));
}

TEST(RoundTrip, OfTheTreeIsTheSamePayloadAndAttributes) {
  EventMaker maker(2);
  for (int round = 0; round < 2000; ++round) {
    const Event event = maker.event();
    Result<Event> again = decode_json_event(dump_json(event_to_json(event)));
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_EQ(payload(*again), payload(event));
    again->data = event.data;
    ASSERT_EQ(*again, event);
  }
}

TEST(RoundTrip, OfBinaryModeKeepsAllButTheTypesOfExtensions) {
  EventMaker maker(3);
  size_t refused = 0;
  for (int round = 0; round < 5000; ++round) {
    Event event = maker.event();
    const HttpMessage message = encode_http_binary(event);
    for (const auto& [name, value] : message.headers) {
      ASSERT_TRUE(
          std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c < 0x7f; }))
          << name << ": " << value;
    }
    for (auto& [name, value] : event.extensions) value = *attribute(event, name);
    if (event.data && is_json_text(*event.data) && !event.datacontenttype) {
      event.datacontenttype = "application/json";
    }
    if (event.data == "") event.data.reset();
    const Result<std::vector<Event>> again = decode_http(message.headers, message.body);
    if (event.data && event.datacontenttype && is_json_content_type(event.datacontenttype) &&
        !is_json_text(*event.data)) {
      ASSERT_FALSE(again) << message.body;
      ASSERT_EQ(again.error().code, "event.malformed_data");
      ++refused;
      continue;
    }
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_EQ(*again, std::vector{event});
  }
  EXPECT_GT(refused, 100U) << "data that are not the JSON that they are declared to be";
}

TEST(DamagedTexts, AreTakenOnlyWhereTheyAreStillJson) {
  EventMaker maker(4);
  size_t taken = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = encode_json_event(maker.event());
    maker.damage(text);
    const Result<Event> event = decode_json_event(text);
    if (!event) {
      EXPECT_TRUE(is_utf8(event.error().message));
      if (event.error().code == "event.malformed_json") {
        ASSERT_FALSE(is_json_text(text)) << text;
      }
      continue;
    }
    ++taken;
    ASSERT_TRUE(is_json_text(text)) << text;
    ASSERT_TRUE(check_event(*event)) << text;
    if (!holds_loose_json(*event)) {
      ASSERT_EQ(decode_json_event(encode_json_event(*event)), event) << text;
    }
  }
  EXPECT_GT(taken, 1000U) << "the damage leaves too few events to say anything";
}

}  // namespace
}  // namespace millrace
