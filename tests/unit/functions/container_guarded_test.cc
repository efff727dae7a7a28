// A guarded ContainerRunner: it starts containers, and calls them, only while it is allowed to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/functions/container_fixture.h"

namespace millrace {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class GuardedContainerTest : public ContainerTest {
 protected:
  GuardedContainerTest() {
    settings_.guarded = true;
    runtime_.add_image("seven", "echo 7");
    runtime_.add_image("serve", "exec sleep 1000");
  }

  static Permission::Time in_an_hour() {
    return std::chrono::steady_clock::now() + std::chrono::hours(1);
  }
};

TEST_F(GuardedContainerTest, StartsNoContainerBeforeItIsAllowedTo) {
  runner().run(isolated(1, "seven"));
  runner().run(reusable(2, "serve", 1));
  ASSERT_TRUE(eventually([&] { return !runtime_.calls("ps").empty(); }))
      << "what an earlier process has left is removed without a permission";
  EXPECT_THAT(runtime_.calls("run"), IsEmpty());
  EXPECT_FALSE(reports_.has_started(id(1)));
  runner().allow_until(in_an_hour());
  const TaskEnded ended = reports_.end_of(id(1));
  ASSERT_TRUE(ended.result) << ended.result.error().message;
  EXPECT_EQ(*ended.result, "7\n");
  EXPECT_TRUE(has_started(2));
}

TEST_F(GuardedContainerTest, CompletesATaskThatRunsAndStartsNoFurtherOneWhenItIsForbidden) {
  runner().allow_until(in_an_hour());
  runner().run(reusable(1, "serve"));
  ASSERT_TRUE(has_started(1));
  calls_.serve(port(0));
  ASSERT_TRUE(calls_.have(1));
  runner().forbid();
  runner().run(reusable(2, "serve"));
  runner().run(isolated(3, "seven"));
  calls_.answer(0, "{}");
  EXPECT_EQ(*reports_.end_of(id(1)).result, "{}");
  EXPECT_FALSE(reports_.has_started(id(2)));
  EXPECT_THAT(runtime_.calls("run"), SizeIs(1));
  runner().stop(id(3));
  runner().allow_until(in_an_hour());
  ASSERT_TRUE(calls_.have(2));
  calls_.answer(1, "{}");
  EXPECT_EQ(*reports_.end_of(id(2)).result, "{}");
  EXPECT_THAT(runtime_.calls("run"), SizeIs(1)) << "the third task was stopped";
}

}  // namespace
}  // namespace millrace
