// EncodedEvent::take() returns the same event or error as decode_nats() for each message, both for
// plain events, which it reads itself, and for other events, which the decoder reads.
#include "cloudevents/encoded_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/binary_mode.h"
#include "cloudevents/http_binding.h"
#include "cloudevents/json_format.h"
#include "cloudevents/json_text.h"
#include "cloudevents/plain_event.h"
#include "tests/support/cases.h"
#include "tests/unit/cloudevents/event_maker.h"
#include "tests/unit/cloudevents/malformed_events.h"

namespace millrace {
namespace {

std::optional<std::string> found(const Attributes& attributes, std::string_view name) {
  const std::optional<std::string_view> text = attributes.find(name);
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

/// Compares the results of EncodedEvent::take() and decode_nats(). Returns whether the message is
/// an event.
bool expect_the_same(const NatsMessage& message, const EventLimits& limits = {}) {
  const std::string shown = ::testing::PrintToString(message.headers) + " " + message.data;
  const Result<Event> expected = decode_nats(message, limits);
  NatsMessage taken_from = message;
  const Result<EncodedEvent> taken = EncodedEvent::take(taken_from, limits);
  EXPECT_EQ(taken.has_value(), expected.has_value()) << shown;
  if (!taken || !expected) {
    if (!taken && !expected) {
      EXPECT_EQ(taken.error(), expected.error()) << shown;
    }
    EXPECT_EQ(taken_from.data, message.data) << "a message that is not an event is unchanged";
    return false;
  }
  EXPECT_EQ(taken->event(), *expected) << shown;
  for (const char* name : {"id", "source", "type", "subject", "time", "datacontenttype",
                           "dataschema", "specversion", "data", "data_base64"}) {
    EXPECT_EQ(found(taken->attributes(), name), attribute(*expected, name)) << name << shown;
  }
  for (const auto& [name, value] : expected->extensions) {
    EXPECT_EQ(found(taken->attributes(), name), attribute(*expected, name)) << name << shown;
  }
  return true;
}

TEST(EncodedEvent, RefusesMalformedMessagesAsTheDecoderDoes) {
  for (const MalformedEvent& row : malformed_events()) {
    SCOPED_TRACE(row.name);
    EXPECT_FALSE(expect_the_same({.headers = row.headers, .data = row.body}));
  }
}

TEST(EncodedEvent, ReadsPlainEventsWithoutTheDecoder) {
  for (const std::string& text : {
           structured(""),
           " \r\n\t" + structured("") + " \n",
           structured(R"(, "subject": "ä", "time": "2021-09-01T12:00:00+02:00")"),
           structured(R"(, "datacontenttype": "application/json", "dataschema": "urn:x")"),
           structured(R"(, "subject": null, "a": null, "data": null, "data_base64": null)"),
           structured(R"(, "a": true, "b": false, "c": -2147483648, "d": 2147483647, "e": -0)"),
           structured(R"(, "a": "", "b": "\u00e4\"\\/", "data": {"a": [1.5e3, "\ud83d\ude00"]})"),
           structured(R"(, "data": [1, {"data": [ ]}, "\n", null])"),
           structured(R"(, "datacontenttype": "text/plain", "data": "a\tb")"),
           structured(R"(, "data": )" + nested(kMaxJsonDepth - 1)),
           structured(R"(, "data": ")" + std::string(60'000, 'x') + "\""),
       }) {
    EXPECT_TRUE(read_plain_json(text)) << text;
    EXPECT_TRUE(expect_the_same({.data = text}));
  }
  for (const Headers& headers : {
           binary({}),
           binary({{"Content-Type", " application/json "}, {"Nats-Msg-Id", "%"}}),
           binary({{"ce-subject", "a b"}, {"ce-x", ""}, {"ce-time", "2021-09-01T12:00:00Z"}}),
       }) {
    EXPECT_TRUE(read_plain_headers(headers));
    EXPECT_TRUE(expect_the_same({.headers = headers}));
    EXPECT_TRUE(expect_the_same({.headers = headers, .data = R"({"data": 1})"}));
  }
}

TEST(EncodedEvent, LetsTheDecoderReadEventsThatAreNotPlain) {
  for (const std::string& text : {
           structured(R"(, "data_base64": "aGVsbG8=")"),
           structured(R"(, "data": 123456789012345678901234567890)"),
           structured(R"(, "data": ")" + std::string(70'000, 'x') + "\""),
           structured(R"(, "a00": 0)" +
                      [] {
                        std::string many;
                        for (int i = 1; i < 40; ++i) many += ", \"a" + std::to_string(i) + "\": 0";
                        return many;
                      }()),
       }) {
    EXPECT_FALSE(read_plain_json(text)) << text;
    EXPECT_TRUE(expect_the_same({.data = text}));
  }
  for (const Headers& headers : {
           binary({{"Ce-Subject", "s"}}),
           binary({{"ce-subject", "100%25"}}),
           binary({{"ce-subject", "\"s\""}}),
           binary({{"content-type", "text/plain"}, {"ce-datacontenttype", "text/plain"}}),
       }) {
    EXPECT_FALSE(read_plain_headers(headers));
    EXPECT_TRUE(expect_the_same({.headers = headers, .data = "x"}));
  }
}

TEST(EncodedEvent, LimitsTheSizeOfAnEvent) {
  const std::string text = structured(R"(, "data": "x")");
  EXPECT_TRUE(expect_the_same({.data = text}, {.event_bytes = text.size()}));
  EXPECT_FALSE(expect_the_same({.data = text}, {.event_bytes = text.size() - 1}));
  size_t size = 4;
  for (const auto& [name, value] : binary({})) size += name.size() + value.size();
  EXPECT_TRUE(expect_the_same({.headers = binary({}), .data = "data"}, {.event_bytes = size}));
  EXPECT_FALSE(expect_the_same({.headers = binary({}), .data = "data"}, {.event_bytes = size - 1}));
}

TEST(EncodedEvent, ReturnsTheEventThatItWasMadeFrom) {
  EventMaker maker(5);
  for (int round = 0; round < 2000; ++round) {
    const Event event = maker.event();
    ASSERT_EQ(EncodedEvent(event).event(), event);
    EncodedEvent moved = EncodedEvent(event);
    const EncodedEvent copy = moved;
    const EncodedEvent last = std::move(moved);
    ASSERT_EQ(last.event(), event);
    ASSERT_EQ(copy.attributes().type(), event.type);
  }
}

/// The JSON of an event as other programs may write it: with members in any order, with members
/// that are null or occur twice, with or without white space.
std::string rewritten(EventMaker& maker, const Event& event) {
  const std::string text = encode_json_event(event);
  const std::optional<std::vector<JsonMember>> parts = split_object(text);
  std::vector<std::string> members;
  for (const JsonMember& member : *parts) {
    members.push_back(std::string(member.key) + ":" + std::string(member.value));
  }
  if (maker.chance(3))
    members.push_back(maker.one_of(
        {"\"subject\":null", "\"x\":null", "\"id\":\"1\"", "\"data\":null", "\"data_base64\":\"\"",
         "\"X\":1", "\"x\":1.0", "\"x\":2147483648", "\"\\u0078\":1", "\"data\":{\"a\": 1e400}"}));
  for (size_t i = members.size(); i > 1; --i) std::swap(members[i - 1], members[maker.below(i)]);
  const std::string comma = maker.one_of({",", ", ", " ,\n\t"});
  std::string out = "{";
  for (const std::string& member : members) out += (out.size() > 1 ? comma : "") + member;
  return out + "}";
}

// Messages in both modes, valid or with some bytes changed.
TEST(EncodedEvent, ReadsAnyMessageAsTheDecoderDoes) {
  const size_t rounds = cases(20'000);
  EventMaker maker(6);
  size_t events = 0;
  size_t plain = 0;
  for (size_t round = 0; round < rounds && !::testing::Test::HasFailure(); ++round) {
    NatsMessage message;
    const Event event = maker.event();
    if (maker.chance(4)) {
      HttpMessage binary = encode_http_binary(event);
      message.headers = std::move(binary.headers);
      message.data = std::move(binary.body);
      if (maker.chance(2))
        maker.damage(message.headers[maker.below(message.headers.size())].second);
      if (maker.chance(8)) message.headers.push_back(message.headers.front());
      plain += read_plain_headers(message.headers).has_value() ? 1 : 0;
    } else {
      message.data = rewritten(maker, event);
      if (maker.chance(2)) maker.damage(message.data);
      plain += read_plain_json(message.data).has_value() ? 1 : 0;
    }
    events += expect_the_same(message) ? 1 : 0;
  }
  EXPECT_GT(events, rounds / 3) << "too few of the random messages are events";
  EXPECT_GT(plain, events / 3) << "too few of the random events are plain";
}

}  // namespace
}  // namespace millrace
