#include "orchestrator/outgoing/call_budget.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/support/catalog_store.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr NamespaceNumber kOne{1};
constexpr NamespaceNumber kTwo{2};

TEST(CallBudget, HasRoomUntilOneOfItsLimitsIsReached) {
  CallBudget budget({.tasks = 2, .bytes = 100});
  budget.hand_out(numbered_id(1), kOne, 99);
  EXPECT_TRUE(budget.has_room(kOne, numbered_id(9)));
  budget.hand_out(numbered_id(2), kOne, 0);
  EXPECT_FALSE(budget.has_room(kOne, numbered_id(9)));
  budget.hand_out(numbered_id(3), kTwo, 100);
  EXPECT_FALSE(budget.has_room(kTwo, numbered_id(9)));
  budget.hand_out(numbered_id(3), kTwo, 100);  // handed out again
  budget.end(numbered_id(3));
  budget.end(numbered_id(1));
  EXPECT_TRUE(budget.has_room(kOne, numbered_id(9)));
  EXPECT_TRUE(budget.has_room(kTwo, numbered_id(9)));
}

TEST(CallBudget, HasNoRoomForATaskThatIsNewerThanAHeldTaskOfItsNamespace) {
  CallBudget budget({.tasks = 1, .bytes = 100});
  budget.hand_out(numbered_id(1), kOne, 1);
  budget.hold(numbered_id(3), kOne);
  budget.end(numbered_id(1));
  EXPECT_FALSE(budget.has_room(kOne, numbered_id(4)));
  EXPECT_TRUE(budget.has_room(kOne, numbered_id(2))) << "it is older";
  EXPECT_TRUE(budget.has_room(kTwo, numbered_id(4)));
  EXPECT_THAT(budget.release(), ElementsAre(numbered_id(3)));
  EXPECT_TRUE(budget.has_room(kOne, numbered_id(4)));
}

TEST(CallBudget, ReleasesTheOldestHeldTasksOfANamespaceThatHasRoom) {
  CallBudget budget({.tasks = 2, .bytes = 100});
  budget.hand_out(numbered_id(1), kOne, 1);
  budget.hand_out(numbered_id(2), kOne, 1);
  for (const uint8_t number : {5, 4, 3}) budget.hold(numbered_id(number), kOne);
  EXPECT_EQ(budget.held(), 3U);
  EXPECT_FALSE(budget.has_releasable());
  EXPECT_THAT(budget.release(), IsEmpty());
  budget.hold(numbered_id(6), kTwo);
  EXPECT_TRUE(budget.has_releasable());
  budget.end(numbered_id(1));
  EXPECT_THAT(budget.release(), ElementsAre(numbered_id(3), numbered_id(6)));
  EXPECT_EQ(budget.held(), 2U);
  budget.end(numbered_id(4));  // while it is held
  budget.end(numbered_id(2));
  EXPECT_THAT(budget.release(), ElementsAre(numbered_id(5)));
  EXPECT_FALSE(budget.has_releasable());
}

TEST(CallBudget, ForgetsHeldTasks) {
  CallBudget budget({.tasks = 1, .bytes = 1});
  budget.hold(numbered_id(1), kOne);
  budget.hand_out(numbered_id(2), kTwo, 1);
  budget.clear_held();
  EXPECT_EQ(budget.held(), 0U);
  EXPECT_FALSE(budget.has_releasable());
  EXPECT_FALSE(budget.has_room(kTwo, numbered_id(9)))
      << "the tasks that were handed out still count";
}

}  // namespace
}  // namespace millrace
