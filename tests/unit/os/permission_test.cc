#include "os/permission.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Time = Permission::Time;

Time at(int64_t millis) { return Time(milliseconds(millis)); }

/// Two clocks that a test sets.
class PermissionTest : public testing::Test {
 protected:
  /// The machine runs for that time.
  void run(int64_t millis) {
    steady_ += milliseconds(millis);
    lasting_ += milliseconds(millis);
  }
  void suspend(int64_t millis) { lasting_ += milliseconds(millis); }

  Permission::Clocks clocks() {
    return [this] {
      // The stalls are those of a thread that waits for a processor between the reads.
      ClockReading reading{.steady = steady_};
      run(stall_before_);
      reading.lasting = lasting_;
      run(stall_after_);
      reading.steady_after = steady_;
      return reading;
    };
  }

  Time steady_ = at(1'000);
  nanoseconds lasting_ = milliseconds(5'000);
  int64_t stall_before_ = 0;
  int64_t stall_after_ = 0;
};

TEST_F(PermissionTest, IsAlwaysValidIfItIsNotGuarded) {
  Permission permission(false, clocks());
  EXPECT_TRUE(permission.is_valid());
  EXPECT_FALSE(permission.allow_until(at(0)));
  permission.forbid();
  EXPECT_TRUE(permission.is_valid());
}

TEST_F(PermissionTest, IsValidFromTheFirstAllowanceUntilItsTime) {
  Permission permission(true, clocks());
  EXPECT_FALSE(permission.is_valid());
  EXPECT_TRUE(permission.allow_until(at(1'100)));
  EXPECT_TRUE(permission.is_valid());
  run(99);
  EXPECT_TRUE(permission.is_valid());
  EXPECT_FALSE(permission.allow_until(at(1'200))) << "it was valid before";
  run(100);
  EXPECT_TRUE(permission.is_valid());
  run(1);
  EXPECT_FALSE(permission.is_valid());
  EXPECT_TRUE(permission.allow_until(at(1'201)));
}

TEST_F(PermissionTest, EndsWhenItIsForbiddenAndWhenItsTimeIsSetToThePast) {
  Permission permission(true, clocks());
  permission.allow_until(at(2'000));
  permission.forbid();
  EXPECT_FALSE(permission.is_valid());
  EXPECT_TRUE(permission.allow_until(at(2'000)));
  EXPECT_FALSE(permission.allow_until(at(999)));
  EXPECT_FALSE(permission.is_valid());
}

TEST_F(PermissionTest, TakesTheFirstAndTheLastTimeOfTheClock) {
  Permission permission(true, clocks());
  EXPECT_TRUE(permission.allow_until(Time::max()));
  EXPECT_TRUE(permission.is_valid());
  EXPECT_FALSE(permission.allow_until(Time::min()));
  EXPECT_FALSE(permission.is_valid());
}

TEST_F(PermissionTest, EndsDuringASuspensionOfTheMachine) {
  Permission permission(true, clocks());
  permission.allow_until(at(1'100));
  suspend(99);
  EXPECT_TRUE(permission.is_valid());
  suspend(1);
  EXPECT_FALSE(permission.is_valid()) << "the steady clock has not moved";
}

TEST_F(PermissionTest, IsNotGivenByAnAnswerToARequestFromBeforeASuspension) {
  Permission permission(true, clocks());
  permission.allow_until(at(1'100), at(1'000));
  const Time asked = steady_;
  suspend(60'000);
  run(5);
  EXPECT_FALSE(permission.allow_until(asked + milliseconds(100), asked));
  EXPECT_FALSE(permission.is_valid());
  EXPECT_FALSE(permission.allow_until(asked + milliseconds(100), asked))
      << "the suspension is remembered";
  run(1);
  EXPECT_TRUE(permission.allow_until(steady_ + milliseconds(100), steady_));
  EXPECT_TRUE(permission.is_valid());
}

TEST_F(PermissionTest, RemembersASuspensionFromBeforeTheFirstAllowance) {
  Permission permission(true, clocks());
  const Time asked = steady_;
  suspend(60'000);
  EXPECT_FALSE(permission.allow_until(asked + milliseconds(100), asked));
  EXPECT_FALSE(permission.is_valid());
}

TEST_F(PermissionTest, DoesNotTakeAStallBetweenTheReadsForASuspensionForLong) {
  Permission permission(true, clocks());
  const Time asked = steady_;
  stall_before_ = 50;
  EXPECT_FALSE(permission.allow_until(asked + milliseconds(1'000), asked));
  stall_before_ = 0;
  run(1);
  EXPECT_TRUE(permission.allow_until(steady_ + milliseconds(1'000), steady_));
}

TEST_F(PermissionTest, NoticesASuspensionAfterAStallBetweenTheReads) {
  Permission permission(true, clocks());
  stall_after_ = 50;
  permission.allow_until(at(1'050));
  EXPECT_FALSE(permission.is_valid()) << "the later read of the steady clock counts";
  stall_after_ = 0;
  const Time asked = steady_;
  suspend(20);
  EXPECT_FALSE(permission.allow_until(asked + milliseconds(100), asked));
}

TEST_F(PermissionTest, ReadsTheClocksOfTheSystemInOrder) {
  const ClockReading one = read_clocks();
  const ClockReading two = read_clocks();
  EXPECT_LE(one.steady, one.steady_after);
  EXPECT_LE(one.steady_after, two.steady);
  EXPECT_LE(one.lasting, two.lasting);
  EXPECT_GE(one.lasting, one.steady.time_since_epoch())
      << "CLOCK_BOOTTIME is the steady clock plus the suspensions of the machine";
}

}  // namespace
}  // namespace millrace
