#include "states/child_id.h"

#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr std::string_view kKey = "0123456789abcdef";
const TimePoint kNow = *parse_rfc3339("2024-01-01T00:00:00Z");

Caller call(uint64_t entered, uint32_t index, uint32_t attempt) {
  return {.instance = *parse_instance_id("018cc251-f400-7000-8000-000000000001"),
          .entered = entered,
          .index = index,
          .attempt = attempt};
}

std::string id(std::string_view key, const Caller& caller, TimePoint now = kNow) {
  return to_string(child_id(key, caller, now));
}

// Stores and workers hold ids, so a later build must compute the same ones. Another program
// computed the expected ids from numbers in little-endian order.
TEST(ChildId, IsTheSameInEveryBuildAndOnEveryMachine) {
  const struct {
    Caller caller;
    std::string_view without_key;
    std::string_view with_key;
  } cases[] = {
      {call(0, 0, 1), "018cc251-f400-7000-8753-40a996eb1536",
       "018cc251-f400-7000-8d1a-5e6920eef3eb"},
      {call(1, 2, 1), "018cc251-f400-7002-90ff-72463bc56151",
       "018cc251-f400-7002-a2b7-ff506be1c1c0"},
      {call(0x0102030405060708, 0x0304, 0x01020304), "018cc251-f400-7304-8968-cae6162de544",
       "018cc251-f400-7304-b4bf-f18f2a4c4631"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(id("", one.caller), one.without_key);
    EXPECT_EQ(id(kKey, one.caller), one.with_key);
  }
}

TEST(ChildId, DiffersIfOnePartOfTheCallDiffers) {
  Caller other = call(1, 1, 1);
  other.instance.bytes[15] ^= 1;
  const std::set<std::string> ids = {id(kKey, call(1, 1, 1)), id(kKey, call(2, 1, 1)),
                                     id(kKey, call(1, 2, 1)), id(kKey, call(1, 1, 2)),
                                     id(kKey, other),         id("", call(1, 1, 1))};
  EXPECT_EQ(ids.size(), 6U);
}

TEST(ChildId, SortsByTimeAndThenByTheIndexOfTheCall) {
  const TimePoint later = kNow + std::chrono::milliseconds(1);
  EXPECT_LT(id(kKey, call(9, 1, 9)), id(kKey, call(1, 2, 1)));
  EXPECT_LT(id(kKey, call(9, 255, 9)), id(kKey, call(1, 256, 1)));
  EXPECT_LT(id(kKey, call(9, 2, 9)), id(kKey, call(1, 1, 1), later));
}

}  // namespace
}  // namespace millrace
