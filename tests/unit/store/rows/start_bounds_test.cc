#include "orchestrator/store/rows/start_bounds.h"

#include <gtest/gtest.h>

#include "orchestrator/store/rows/damage.h"
#include "tests/unit/store/rows/row_support.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

InstanceId id_at(TimePoint time) { return make_instance_id(time, {1, 2, 3}); }

TEST(StartBoundsTest, HoldForEachInstanceThatTheyInclude) {
  StartBounds bounds;
  bounds.include(id_at(kNow), kNow);
  EXPECT_EQ(bounds, StartBounds());
  bounds.include(id_at(kNow + seconds(2)), kNow);
  bounds.include(id_at(kNow + seconds(1)), kNow);
  bounds.include(id_at(kNow), kNow + seconds(30));
  bounds.include(id_at(kNow), kNow + seconds(20));
  EXPECT_EQ(bounds.early_by, seconds(2));
  EXPECT_EQ(bounds.late_by, seconds(30));
  EXPECT_EQ(bounds.late_until, TimePoint()) << "no instance started late";
  bounds.include(id_at(kNow), kNow + hours(3));
  bounds.include(id_at(kNow + hours(3)), kNow + hours(4));
  EXPECT_EQ(bounds.late_by, hours(3));
  EXPECT_EQ(bounds.late_until, kNow + hours(4));
}

TEST(StartBoundsTest, CoverOtherBoundsOnceTheyIncludeThem) {
  StartBounds bounds;
  StartBounds early;
  early.include(id_at(kNow + seconds(2)), kNow);
  StartBounds late;
  late.include(id_at(kNow), kNow + hours(1));
  EXPECT_FALSE(bounds.covers(early));
  EXPECT_FALSE(bounds.covers(late));
  bounds.include(early);
  EXPECT_TRUE(bounds.covers(early));
  EXPECT_FALSE(bounds.covers(late));
  bounds.include(late);
  EXPECT_TRUE(bounds.covers(early));
  EXPECT_TRUE(bounds.covers(late));
  EXPECT_FALSE(early.covers(bounds));
}

TEST(StartBoundsTest, EndAWalkBeforeNoInstanceThatStartedInTime) {
  const TimePoint outage = kNow;
  StartBounds bounds;
  bounds.include(id_at(outage), outage + hours(2));                          // after the outage
  bounds.include(id_at(outage + hours(5)), outage + hours(5));               // at once
  bounds.include(id_at(outage + hours(5) + seconds(3)), outage + hours(5));  // a clock is ahead
  EXPECT_EQ(bounds.lowest_for(outage + hours(2)), outage)
      << "an instance that started then may have an id from two hours before";
  EXPECT_EQ(bounds.lowest_for(outage + hours(3)), outage + hours(3) - StartBounds::kLate)
      << "no instance started late after that time";
  EXPECT_EQ(bounds.end_for(outage + hours(5)), outage + hours(5) + seconds(3));
  EXPECT_EQ(StartBounds().lowest_for(kNow), kNow);
  EXPECT_EQ(StartBounds().end_for(kNow), kNow);
}

TEST(StartBoundsTest, AreWithinTheTimesOfTheStoreAlsoForAnIdThatIsNot) {
  InstanceId last;
  last.bytes.fill(0xff);
  StartBounds bounds;
  bounds.include(last, kNow);
  EXPECT_EQ(bounds.early_by, kLastTime - kNow);
}

}  // namespace
}  // namespace millrace
