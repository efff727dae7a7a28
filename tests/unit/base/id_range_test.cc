#include "base/id_range.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

InstanceId id(const char* text) { return parse_instance_id(text).value(); }

constexpr const char* kSome = "0190b5a4-7c1e-7f2a-8000-0123456789ff";
constexpr const char* kNext = "0190b5a4-7c1e-7f2a-8000-012345678a00";

TEST(IdRanges, HaveAllIdsByDefault) {
  EXPECT_FALSE(IdRange{}.is_empty());
  for (const InstanceId& one : {InstanceId{}, id(kSome), kLastId}) {
    EXPECT_TRUE(IdRange{}.contains(one));
  }
}

TEST(IdRanges, BeginBehindAnIdOrEndBeforeIt) {
  IdRange behind;
  behind.begin_behind(id(kSome));
  EXPECT_EQ(behind.first, id(kNext));
  EXPECT_EQ(behind.last, kLastId);
  behind.begin_behind(InstanceId{});
  EXPECT_EQ(behind.first, id(kNext)) << "a range does not become larger";
  IdRange before;
  before.end_before(id(kNext));
  EXPECT_EQ(before.last, id(kSome));
  before.end_before(kLastId);
  EXPECT_EQ(before.last, id(kSome)) << "a range does not become larger";
  IdRange none;
  none.begin_behind(kLastId);
  EXPECT_TRUE(none.is_empty());
  none = {};
  none.end_before(InstanceId{});
  EXPECT_TRUE(none.is_empty());
}

TEST(IdRanges, AreBoundedByTimes) {
  const TimePoint time = from_millis(1'630'497'600'123);
  const InstanceId at = make_instance_id(time, {});
  const InstanceId earlier =
      make_instance_id(time - Duration(1), {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff});
  IdRange from;
  from.begin_at(time);
  EXPECT_TRUE(from.contains(at));
  EXPECT_FALSE(from.contains(earlier));
  IdRange until;
  until.end_before(time);
  EXPECT_FALSE(until.contains(at));
  EXPECT_TRUE(until.contains(earlier));
}

TEST(IdRanges, KnowTheTimesThatNoIdHas) {
  const TimePoint long_ago = from_millis(-1);
  const TimePoint far = from_millis(int64_t{1} << 48);
  IdRange range;
  range.begin_at(long_ago);
  EXPECT_EQ(range, IdRange{});
  range.end_before(far);
  EXPECT_EQ(range, IdRange{});
  range.begin_at(far);
  EXPECT_TRUE(range.is_empty());
  range = {};
  range.end_before(long_ago);
  EXPECT_TRUE(range.is_empty());
}

TEST(IdRanges, AreThoseOfTheBeginningOfAText) {
  EXPECT_EQ(ids_with_prefix(""), IdRange{});
  EXPECT_EQ(ids_with_prefix("0190B5A4-7"),
            (IdRange{.first = id("0190b5a4-7000-0000-0000-000000000000"),
                     .last = id("0190b5a4-7fff-ffff-ffff-ffffffffffff")}));
  EXPECT_EQ(ids_with_prefix("0190b5a4-"),
            (IdRange{.first = id("0190b5a4-0000-0000-0000-000000000000"),
                     .last = id("0190b5a4-ffff-ffff-ffff-ffffffffffff")}));
  EXPECT_EQ(ids_with_prefix(kSome), (IdRange{.first = id(kSome), .last = id(kSome)}));
  for (const char* text : {"0190b5a47", "x", "0190b5a4-7c1e-7f2a-8000-0123456789ff0", "-"}) {
    const Result<IdRange> range = ids_with_prefix(text);
    ASSERT_FALSE(range) << text;
    EXPECT_EQ(range.error().code, "id.malformed");
  }
}

}  // namespace
}  // namespace millrace
