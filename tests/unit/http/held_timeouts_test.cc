#include "http/held_timeouts.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

HeldTimeouts::Time at(int64_t millis) { return HeldTimeouts::Time(Duration(millis)); }

TEST(HeldTimeouts, PassOnlyWhileTheClientIsHeldBack) {
  HeldTimeouts timeouts;
  timeouts.note(at(0), false);
  timeouts.add(1, Duration(100));
  timeouts.note(at(1'000), false);
  EXPECT_EQ(timeouts.first_expired(), std::nullopt);
  timeouts.note(at(2'000), true);
  EXPECT_EQ(timeouts.first_expired(), std::nullopt) << "it is not known when it began";
  timeouts.note(at(2'060), false);
  timeouts.note(at(3'000), true);
  timeouts.note(at(3'039), true);
  EXPECT_EQ(timeouts.first_expired(), std::nullopt);
  timeouts.note(at(3'040), true);
  EXPECT_EQ(timeouts.first_expired(), 1U);
}

TEST(HeldTimeouts, ExpireInTheOrderOfTheirEnds) {
  HeldTimeouts timeouts;
  timeouts.note(at(0), true);
  timeouts.add(1, Duration(300));
  timeouts.note(at(100), true);
  timeouts.add(2, Duration(50));
  timeouts.add(3, Duration(200));
  timeouts.note(at(500), true);
  for (const HeldTimeouts::Ticket ticket : {2, 1, 3}) {
    EXPECT_EQ(timeouts.first_expired(), ticket);
    EXPECT_EQ(timeouts.remove(ticket), Duration(1));
  }
  EXPECT_EQ(timeouts.first_expired(), std::nullopt);
  EXPECT_TRUE(timeouts.empty());
}

TEST(HeldTimeouts, ReturnWhatIsLeftToARequestThatDoesNotWaitAnyMore) {
  HeldTimeouts timeouts;
  timeouts.note(at(0), true);
  timeouts.add(1, Duration(300));
  timeouts.add(2, Duration::max());
  timeouts.note(at(100), false);
  EXPECT_FALSE(timeouts.empty());
  EXPECT_EQ(timeouts.remove(1), Duration(200));
  EXPECT_EQ(timeouts.remove(1), std::nullopt);
  timeouts.add(1, Duration(200));
  timeouts.add(3, Duration::max());
  EXPECT_EQ(timeouts.remove(1), Duration(200));
  EXPECT_EQ(timeouts.remove(2), Duration::max() - Duration(100));
  EXPECT_EQ(timeouts.remove(3), Duration::max() - Duration(100));
  EXPECT_EQ(timeouts.remove(4), std::nullopt);
  EXPECT_TRUE(timeouts.empty());
}

TEST(HeldTimeouts, CountShortTimesTogether) {
  HeldTimeouts timeouts;
  timeouts.add(1, Duration(2));
  HeldTimeouts::Time now = at(0);
  timeouts.note(now, true);
  for (int call = 0; call < 3; ++call) {
    EXPECT_EQ(timeouts.first_expired(), std::nullopt) << call;
    now += std::chrono::microseconds(700);
    timeouts.note(now, true);
  }
  EXPECT_EQ(timeouts.first_expired(), 1U) << "2.1 ms have passed";
  timeouts.note(at(0), true);  // the time does not go back
  EXPECT_EQ(timeouts.remove(1), Duration(1));
}

}  // namespace
}  // namespace millrace
