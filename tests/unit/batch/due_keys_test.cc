#include "orchestrator/batch/due_keys.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DueKeys, AreTakenInTheOrderOfTheirTimes) {
  DueKeys<std::string> due;
  EXPECT_EQ(due.first(), std::nullopt);
  due.put("b", from_millis(20));
  due.put("c", from_millis(10));
  due.put("a", from_millis(20));
  due.put("d", from_millis(30));
  EXPECT_EQ(due.first(), from_millis(10));
  EXPECT_THAT(due.take(from_millis(9), 5), IsEmpty());
  EXPECT_THAT(due.take(from_millis(20), 2), ElementsAre("c", "a"));
  EXPECT_THAT(due.take(from_millis(20), 2), ElementsAre("b"));
  EXPECT_EQ(due.first(), from_millis(30));
  due.clear();
  EXPECT_EQ(due.first(), std::nullopt);
}

TEST(DueKeys, HaveOneTimeEach) {
  DueKeys<std::string> due;
  due.put("a", from_millis(20));
  due.put("a", from_millis(40));
  EXPECT_EQ(due.first(), from_millis(40));
  EXPECT_THAT(due.take(from_millis(30), 5), IsEmpty());
  due.put("a", from_millis(10));
  EXPECT_THAT(due.take(from_millis(40), 5), ElementsAre("a"));
  EXPECT_EQ(due.first(), std::nullopt);
}

}  // namespace
}  // namespace millrace
