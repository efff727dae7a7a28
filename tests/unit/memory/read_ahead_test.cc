// read_ahead: one thread makes values, and another one uses all of them in their order.
#include "orchestrator/memory/read_ahead.h"

#include <memory>

#include <gtest/gtest.h>

namespace millrace {
namespace {

/// Reads `count` numbers ahead; `made` is the result of making them. Returns how many were used.
Result<int> read(int count, const Status& made = {}) {
  int used = 0;
  bool in_order = true;
  const Status status = read_ahead<std::unique_ptr<int>>(
      [&](const auto& put) {
        for (int i = 0; i < count; ++i) put(std::make_unique<int>(i));
        return made;
      },
      [&](std::unique_ptr<int> value) { in_order = in_order && *value == used++; });
  EXPECT_TRUE(in_order);
  if (!status) return tl::unexpected(status.error());
  return used;
}

TEST(ReadAhead, UsesAllValuesInTheirOrder) {
  // The counts are around the size of a chunk, and above the number of values that may wait.
  for (const int count : {0, 1, 511, 512, 513, 1'024, 100'000}) EXPECT_EQ(read(count), count);
}

TEST(ReadAhead, UsesTheValuesBeforeAFailureAndReturnsTheFailure) {
  int used = 0;
  const Status status = read_ahead<int>(
      [&](const auto& put) -> Status {
        for (int i = 0; i < 600; ++i) put(int(i));
        return fail("store.io", "the disk does not answer");
      },
      [&](int) { ++used; });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, "store.io");
  EXPECT_EQ(used, 600);
  EXPECT_EQ(read(600, status).error().code, "store.io");
}

TEST(ReadAhead, UsesTheValuesOfAnotherThreadOnTheCallingThread) {
  const auto caller = std::this_thread::get_id();
  bool makes_here = false;
  bool uses_here = true;
  EXPECT_TRUE(read_ahead<int>(
      [&](const auto& put) -> Status {
        makes_here = std::this_thread::get_id() == caller;
        for (int i = 0; i < 1'000; ++i) put(int(i));
        return {};
      },
      [&](int) { uses_here = uses_here && std::this_thread::get_id() == caller; }));
  EXPECT_FALSE(makes_here);
  EXPECT_TRUE(uses_here);
}

}  // namespace
}  // namespace millrace
