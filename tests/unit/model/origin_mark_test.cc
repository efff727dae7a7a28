// OriginMark: that only the key makes a mark, and only for one event of one namespace.
#include "model/origin_mark.h"

#include <string>

#include <gtest/gtest.h>

namespace millrace {
namespace {

const std::string kKey(32, 'k');

const OriginMark kMark{
    .origin = {.source = {1, 2, 3}, .created = 1'700'000'000'000'000'001, .round = 2},
    .previous = 7,
    .sequence = 9,
    .stamped = from_millis(1'700'000'000'123)};

NatsMessage event_with_mark() {
  NatsMessage message{.subject = "millrace.events.shop.order",
                      .headers = {{"Content-Type", "application/cloudevents+json"}},
                      .data = R"({"id":"1"})"};
  mark_origin(kKey, "shop", kMark, message);
  return message;
}

OriginMark read_mark(const NatsMessage& message) {
  bool is_malformed = false;
  const auto mark = origin_of(message, is_malformed);
  EXPECT_TRUE(mark.has_value());
  EXPECT_FALSE(is_malformed);
  return mark.value_or(OriginMark());
}

TEST(OriginMark, IsReadAsItWasWritten) {
  const OriginMark mark = read_mark(event_with_mark());
  EXPECT_EQ(mark.origin, kMark.origin);
  EXPECT_EQ(mark.previous, 7U);
  EXPECT_EQ(mark.sequence, 9U);
  EXPECT_EQ(mark.stamped, kMark.stamped);
  EXPECT_TRUE(is_proved(kKey, "shop", mark));
}

TEST(OriginMark, IsProvedForItsNamespaceAndKeyOnly) {
  const OriginMark mark = read_mark(event_with_mark());
  EXPECT_FALSE(is_proved(kKey, "other", mark));
  EXPECT_FALSE(is_proved(std::string(32, 'x'), "shop", mark));
}

TEST(OriginMark, IsNotProvedForAnotherEvent) {
  NatsMessage message = event_with_mark();
  message.data = R"({"id":"2"})";
  EXPECT_FALSE(is_proved(kKey, "shop", read_mark(message)));
  message = event_with_mark();
  message.headers.emplace_back("ce-type", "other");
  EXPECT_FALSE(is_proved(kKey, "shop", read_mark(message)));
}

TEST(OriginMark, DoesNotDependOnHeadersOfTheBrokerAndTheirOrder) {
  NatsMessage message = event_with_mark();
  message.headers.insert(message.headers.begin(), {"Nats-Msg-Id", "x"});
  std::swap(message.headers.front(), message.headers.back());
  EXPECT_TRUE(is_proved(kKey, "shop", read_mark(message)));
}

TEST(OriginMark, IsNotProvedWithAnotherNumber) {
  const OriginMark mark = read_mark(event_with_mark());
  OriginMark other = mark;
  ++other.sequence;
  EXPECT_FALSE(is_proved(kKey, "shop", other));
  other = mark;
  --other.previous;
  EXPECT_FALSE(is_proved(kKey, "shop", other));
  other = mark;
  ++other.origin.created;
  EXPECT_FALSE(is_proved(kKey, "shop", other));
  other = mark;
  ++other.origin.round;
  EXPECT_FALSE(is_proved(kKey, "shop", other));
  other = mark;
  other.origin.source[0] = 9;
  EXPECT_FALSE(is_proved(kKey, "shop", other));
}

TEST(OriginMark, IsMalformedIfAMemberIsMissingOrNoNumber) {
  const std::string id(32, 'a');
  for (const std::string& text :
       {std::string(), std::string("x"), id + ".1.0.0.1.0", id + ".1.0.0.1.0." + id + ".1",
        id + ".1.0.-1.1.0." + id, id + ".1.0. 0.1.0." + id, id + ".1.4294967296.0.1.0." + id,
        "A" + id.substr(1) + ".1.0.0.1.0." + id, id + ".1.0.0.1.0." + id.substr(1)}) {
    SCOPED_TRACE(text);
    const NatsMessage message{.headers = {{"millrace-origin", text}}};
    bool is_malformed = false;
    EXPECT_FALSE(origin_of(message, is_malformed));
    EXPECT_TRUE(is_malformed);
  }
}

TEST(OriginMark, IsMissingWithoutTheHeader) {
  bool is_malformed = true;
  EXPECT_FALSE(origin_of({.headers = {{"Nats-Msg-Id", "1"}}}, is_malformed));
  EXPECT_FALSE(is_malformed);
}

TEST(OriginMark, HasAMessageIdOfItsSequenceAndAttempt) {
  const std::string id = origin_message_id(kKey, kMark.origin, 9, 0);
  EXPECT_EQ(id, origin_message_id(kKey, kMark.origin, 9, 0));
  EXPECT_NE(id, origin_message_id(kKey, kMark.origin, 10, 0));
  EXPECT_NE(id, origin_message_id(std::string(32, 'x'), kMark.origin, 9, 0));
  EXPECT_EQ(origin_message_id(kKey, kMark.origin, 9, 2), id + "-2");
}

}  // namespace
}  // namespace millrace
