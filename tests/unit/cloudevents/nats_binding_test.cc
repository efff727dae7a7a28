#include "cloudevents/nats_binding.h"

#include <string>

#include <gtest/gtest.h>

#include "cloudevents/binary_mode.h"
#include "malformed_events.h"

namespace millrace {
namespace {

Event minimal_event() { return {.id = "1", .source = "/s", .type = "t"}; }

Result<Event> decode(const Headers& headers, std::string data) {
  return decode_nats({.subject = "x", .headers = headers, .data = std::move(data)});
}

TEST(NatsBinding, ReadsAMessageWithoutHeadersAsStructuredJson) {
  EXPECT_EQ(decode({}, structured("")), minimal_event());
}

TEST(NatsBinding, ReadsAMessageWithoutCloudEventsHeadersAsStructuredJson) {
  EXPECT_EQ(decode({{"Nats-Msg-Id", "7"}, {"Traceparent", "00"}, {"cex", "y"}}, structured("")),
            minimal_event());
}

TEST(NatsBinding, ReadsTheContentTypeOfTheJsonFormat) {
  for (const char* type :
       {"application/cloudevents+json", "Application/CloudEvents+JSON",
        "application/cloudevents+json; charset=utf-8", "application/cloudevents+json;charset=UTF-8",
        R"( application/cloudevents+json ; charset="utf-8"; x=y; )"}) {
    EXPECT_EQ(decode({{"Content-Type", type}}, structured("")), minimal_event()) << type;
  }
}

TEST(NatsBinding, IgnoresAttributeHeadersInStructuredMode) {
  EXPECT_EQ(
      decode({{"ce-id", "9"}, {"CONTENT-TYPE", "application/cloudevents+json"}}, structured("")),
      minimal_event());
}

TEST(NatsBinding, ReadsBinaryMode) {
  const Result<Event> event = decode({{"Ce-Specversion", "1.0"},
                                      {"ce-id", "1"},
                                      {"CE-SOURCE", "/s"},
                                      {"ce-type", "t"},
                                      {"ce-time", "2018-04-05T03:56:24Z"},
                                      {"ce-subject", "Euro%20%E2%82%AC%20%f0%9f%98%80"},
                                      {"ce-dataschema", "urn:x"},
                                      {"ce-Flag", "true"},
                                      {"ce-n", " 7 "},
                                      {"ce-empty", ""},
                                      {"content-type", "application/json; charset=utf-8"},
                                      {"Nats-Msg-Id", "7"}},
                                     "{\"a\": 1}");
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(*event, (Event{.id = "1",
                           .source = "/s",
                           .type = "t",
                           .subject = "Euro € 😀",
                           .time = "2018-04-05T03:56:24Z",
                           .datacontenttype = "application/json; charset=utf-8",
                           .dataschema = "urn:x",
                           .extensions = {{"flag", std::string("true")},
                                          {"n", std::string("7")},
                                          {"empty", std::string()}},
                           .data = "{\"a\": 1}"}));
}

TEST(NatsBinding, ReadsTheDataOfBinaryModeUnchanged) {
  EXPECT_EQ(decode(binary({}), "hello")->data, "hello");
  EXPECT_EQ(decode(binary({}), std::string("\0\xff", 2))->data, std::string("\0\xff", 2));
  EXPECT_EQ(decode(binary({}), "")->data, std::nullopt);
  EXPECT_EQ(decode(binary({}), "x")->datacontenttype, std::nullopt);
}

TEST(NatsBinding, ReadsDatacontenttypeFromContentTypeOrCeDatacontenttype) {
  EXPECT_EQ(decode(binary({{"ce-datacontenttype", "text/plain"}}), "x")->datacontenttype,
            "text/plain");
  EXPECT_EQ(decode(binary({{"Content-Type", "text/plain"}}), "x")->datacontenttype, "text/plain");
  EXPECT_EQ(decode(binary({{"content-type", "a/b"}, {"ce-datacontenttype", "a/b"}}), "x")
                ->datacontenttype,
            "a/b");
  EXPECT_EQ(
      decode(binary({{"content-type", "a/b"}, {"ce-datacontenttype", "a/c"}}), "x").error().code,
      "event.duplicate_attribute");
}

TEST(NatsBinding, DecodesQuotedAndPercentEncodedHeaderValues) {
  const struct {
    const char* header;
    const char* value;
  } rows[] = {
      {"plain", "plain"},
      {"  a b\t", "a b"},
      {"%41%20%25", "A %"},
      {"%2541", "%41"},
      {"\"a b\"", "a b"},
      {R"("a \"b\" \\ %41")", R"(a "b" \ A)"},
      {"\"\"", ""},
      {"%22a%22", "\"a\""},
      {"a\"b", "a\"b"},
      {"ä", "ä"},
      {"(no comment)", "(no comment)"},
  };
  for (const auto& row : rows) {
    const Result<Event> event = decode(binary({{"ce-x", row.header}}), "");
    ASSERT_TRUE(event) << row.header << ": " << event.error().message;
    EXPECT_EQ(std::get<std::string>(event->extensions.at("x")), row.value) << row.header;
  }
}

TEST(NatsBinding, LimitsTheSizeOfBodyAndAttributesTogether) {
  const auto decode_with = [](const std::string& x, const std::string& body) {
    return decode(binary({{"ce-x", x}}), body);
  };
  EXPECT_TRUE(decode_with("x", std::string(kMaxEventBytes - 100, 'x')));
  EXPECT_EQ(decode_with("x", std::string(kMaxEventBytes, 'x')).error().code, "event.too_large");
  EXPECT_EQ(decode_with(std::string(kMaxEventBytes, 'x'), "").error().code, "event.too_large");
}

TEST(NatsBinding, RefusesABatch) {
  const Result<Event> event =
      decode({{"content-type", "application/cloudevents-batch+json"}}, "[]");
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().code, "event.unsupported_format");
}

TEST(NatsBinding, NamesJsonAsTheSupportedFormat) {
  const Result<Event> event = decode({{"content-type", "application/cloudevents+protobuf"}}, "");
  ASSERT_FALSE(event);
  EXPECT_NE(
      event.error().message.find("supported event format is JSON: application/cloudevents+json"),
      std::string::npos);
}

TEST(NatsBinding, NamesTheExpectedContentTypeIfAllAttributesAreMissing) {
  const Result<Event> event = decode({{"content-type", "application/json"}}, structured(""));
  ASSERT_FALSE(event);
  EXPECT_NE(event.error().message.find("application/cloudevents+json"), std::string::npos);
}

TEST(NatsBinding, WritesStructuredMode) {
  Event event = minimal_event();
  event.subject = "€";
  const NatsMessage message = encode_nats(event);
  EXPECT_EQ(message.subject, "");
  EXPECT_EQ(message.headers, (Headers{{"content-type", "application/cloudevents+json"}}));
  EXPECT_EQ(decode_nats(message), event);
}

}  // namespace
}  // namespace millrace
