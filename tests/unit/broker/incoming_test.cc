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

}  // namespace
}  // namespace millrace
