#include "cloudevents/http_binding.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "cloudevents/json_text.h"
#include "malformed_events.h"
#include "tests/unit/cloudevents/event_maker.h"

namespace millrace {
namespace {

Event minimal_request() { return {.id = "1", .source = "/s", .type = "t"}; }

const std::vector<Event> kOneMinimal = {minimal_request()};

TEST(HttpBinding, ReadsStructuredMode) {
  EXPECT_EQ(decode_http({}, structured("")), kOneMinimal);
  EXPECT_EQ(decode_http({{"Host", "x"}, {"Content-Length", "9"}}, structured("")), kOneMinimal);
  EXPECT_EQ(decode_http({{"Content-Type", "application/cloudevents+json; charset=UTF-8"}},
                        structured("")),
            kOneMinimal);
}

TEST(HttpBinding, ReadsBinaryMode) {
  EXPECT_EQ(decode_http(binary({}), ""), kOneMinimal);
  Event event = minimal_request();
  event.datacontenttype = "text/plain";
  event.data = "hello";
  EXPECT_EQ(decode_http(binary({{"Content-Type", "text/plain"}}), "hello"), std::vector{event});
}

TEST(HttpBinding, ReadsBatches) {
  const Headers batch = {{"content-type", "application/cloudevents-batch+json; charset=utf-8"}};
  EXPECT_EQ(decode_http(batch, "[]"), std::vector<Event>());
  EXPECT_EQ(decode_http(batch, "[" + structured("") + "," + structured("") + "]"),
            (std::vector{minimal_request(), minimal_request()}));
  const Result<std::vector<Event>> bad = decode_http(batch, "[" + structured("") + ",{}]");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, "event.missing_attribute");
  EXPECT_TRUE(bad.error().message.starts_with("[1]: ")) << bad.error().message;
}

TEST(HttpBinding, AppliesTheGivenLimits) {
  const EventLimits limits = {.event_bytes = 62, .batch_events = 1};
  EXPECT_TRUE(decode_http({}, structured(""), limits));
  EXPECT_EQ(decode_http({}, structured(R"(, "x": "long")"), limits).error().code,
            "event.too_large");
  EXPECT_EQ(decode_http(binary({}), std::string(60, 'x'), limits).error().code, "event.too_large");
  EXPECT_EQ(decode_http({{"content-type", "application/cloudevents-batch+json"}},
                        "[" + structured("") + "," + structured("") + "]", limits)
                .error()
                .code,
            "event.batch_too_large");
}

TEST(HttpBinding, ReadsDatacontenttypeFromTheHeaderContentTypeOnly) {
  const Result<std::vector<Event>> events =
      decode_http(binary({{"ce-datacontenttype", "text/plain"}}), "x");
  ASSERT_FALSE(events);
  EXPECT_EQ(events.error().code, "event.content_type");
}

TEST(HttpBinding, WritesBinaryMode) {
  Event event = minimal_request();
  event.subject = "Euro € 😀 \"100%\"";
  event.time = "2018-04-05T03:56:24Z";
  event.datacontenttype = "text/plain";
  event.dataschema = "urn:x";
  event.extensions = {{"flag", true}, {"n", -7}};
  event.data = "hello";
  const HttpMessage message = encode_http_binary(event);
  EXPECT_EQ(message.body, "hello");
  EXPECT_EQ(message.headers,
            (Headers{{"ce-specversion", "1.0"},
                     {"ce-id", "1"},
                     {"ce-source", "/s"},
                     {"ce-type", "t"},
                     {"ce-subject", "Euro%20%E2%82%AC%20%F0%9F%98%80%20%22100%25%22"},
                     {"ce-time", "2018-04-05T03:56:24Z"},
                     {"ce-dataschema", "urn:x"},
                     {"ce-flag", "true"},
                     {"ce-n", "-7"},
                     {"content-type", "text/plain"}}));
}

TEST(HttpBinding, DeclaresJsonDataWithoutAContentTypeAsJson) {
  Event event = minimal_request();
  const auto content_type = [&] {
    const HttpMessage message = encode_http_binary(event);
    const std::string* found = find_header(message.headers, "Content-Type");
    return found != nullptr ? *found : "(none)";
  };
  EXPECT_EQ(content_type(), "(none)");
  event.data = "{}";
  EXPECT_EQ(content_type(), "application/json");
  event.data = "\xff";
  EXPECT_EQ(content_type(), "(none)");
}

TEST(HttpBinding, ReadsBackWhatItWroteInBinaryModeExceptTypesOfExtensionAttributes) {
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
  EXPECT_GT(refused, 100U) << "too few events have data that is declared as JSON but is not JSON";
}

}  // namespace
}  // namespace millrace
