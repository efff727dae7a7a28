// read_delivery: what a message of the event stream becomes.
#include "broker/incoming.h"

#include <string>
#include <variant>

#include <gtest/gtest.h>

namespace millrace {
namespace {

NatsMessage message_with(const std::string& data) {
  return {.subject = "millrace.events.shop.paid",
          .headers = {},
          .data = R"({"specversion":"1.0","id":"1","source":"/s","type":"paid","data":")" + data +
                  "\"}"};
}

TEST(Incoming, SaysHowManyBytesAnEventTakes) {
  const Delivery small = read_delivery(message_with("x"), {.sequence = 7});
  const Delivery large = read_delivery(message_with(std::string(10'000, 'x')), {.sequence = 8});
  const auto* const first = std::get_if<EventInput>(&small);
  const auto* const second = std::get_if<EventInput>(&large);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(first->ns, "shop");
  EXPECT_EQ(first->sequence, 7U);
  EXPECT_GT(first->bytes, 0U);
  EXPECT_LT(first->bytes, 1'000U);
  EXPECT_GE(second->bytes, 10'000U);
  EXPECT_LT(second->bytes, 20'000U);
}

TEST(Incoming, ReadsTheMarkOfASource) {
  NatsMessage message = message_with("x");
  mark_origin("key", "shop", {.origin = {.source = {1}}, .previous = 3, .sequence = 4}, message);
  const Delivery delivery = read_delivery(message, {.sequence = 7});
  const auto* const event = std::get_if<EventInput>(&delivery);
  ASSERT_TRUE(event != nullptr && event->origin != nullptr);
  EXPECT_EQ(event->origin->sequence, 4U);
  EXPECT_TRUE(is_proved("key", "shop", *event->origin));
  const Delivery without = read_delivery(message_with("x"), {.sequence = 8});
  EXPECT_EQ(std::get<EventInput>(without).origin, nullptr);
}

TEST(Incoming, RefusesAMalformedMark) {
  NatsMessage message = message_with("x");
  message.headers.emplace_back("Millrace-Origin", "mine");
  const Delivery delivery = read_delivery(message, {.sequence = 7});
  const auto* const refused = std::get_if<UnreadableInput>(&delivery);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->reason.code, "event.origin");
  EXPECT_EQ(refused->message.data, message.data);
}

}  // namespace
}  // namespace millrace
