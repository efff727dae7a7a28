#include "base/ids.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Ids, SortByTheTimeOfTheirCreation) {
  const InstanceId early = make_instance_id(from_millis(1000), {0xff, 0xff, 0xff});
  const InstanceId late = make_instance_id(from_millis(1001), {});
  EXPECT_LT(early, late);
  EXPECT_LT(to_string(early), to_string(late));
}

TEST(Ids, ShowTheTimeOfTheirCreation) {
  const TimePoint time = from_millis(1630497600123);
  EXPECT_EQ(time_of(make_instance_id(time, {1, 2, 3})), time);
  EXPECT_EQ(time_of(InstanceId{}), from_millis(0));
}

TEST(Ids, AreReadAsTheyAreWritten) {
  const InstanceId id =
      make_instance_id(from_millis(1630497600123), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_EQ(to_string(id)[14], '7') << "version";
  EXPECT_EQ(parse_instance_id(to_string(id)), id);
  for (const char* text : {"", "0190b5a4", "0190b5a4-7c1e-7f2a-8000-0123456789ax",
                           "0190b5a47-c1e-7f2a-8000-0123456789ab"}) {
    EXPECT_FALSE(parse_instance_id(text)) << text;
  }
}

TEST(Ids, ConsistOfLettersDigitsPeriodsDashesAndUnderscores) {
  EXPECT_TRUE(is_identifier("Wait-for_booking.2"));
  EXPECT_FALSE(is_identifier(""));
  EXPECT_FALSE(is_identifier("a b"));
  EXPECT_FALSE(is_identifier("ä"));
  EXPECT_FALSE(is_identifier(std::string(129, 'a')));
}

}  // namespace
}  // namespace millrace
