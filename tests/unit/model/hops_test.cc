#include "model/hops.h"

#include <string>

#include <gtest/gtest.h>

namespace millrace {
namespace {

uint32_t hops(AttributeValue value) {
  Event event{.id = "1", .source = "/", .type = "t"};
  event.extensions[std::string(kHopsAttribute)] = std::move(value);
  return hops_of(event);
}

TEST(Hops, AreReadFromAnAttributeThatIsAnIntegerOrATextOfDigits) {
  EXPECT_EQ(hops_of({.id = "1", .source = "/", .type = "t"}), 0U);
  EXPECT_EQ(hops(7), 7U);
  EXPECT_EQ(hops("7"), 7U);
}

TEST(Hops, AreZeroIfTheAttributeIsNotACount) {
  EXPECT_EQ(hops(true), 0U);
  EXPECT_EQ(hops("many"), 0U);
  EXPECT_EQ(hops(""), 0U);
  EXPECT_EQ(hops(-3), 0U);
  EXPECT_EQ(hops("99999999999"), 0U);
}

TEST(Hops, AreReadAsAtMostOneMoreThanTheLimit) {
  EXPECT_EQ(hops(2'000'000'000), kMaxHops + 1);
  EXPECT_EQ(hops(static_cast<int32_t>(kMaxHops)), kMaxHops);
}

}  // namespace
}  // namespace millrace
