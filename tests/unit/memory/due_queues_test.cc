// DueQueues: the namespaces and their workflows take turns, and each workflow gives its timers in
// their order.
#include "orchestrator/memory/due_queues.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class DueQueuesTest : public testing::Test {
 protected:
  /// Puts a timer of an instance.
  void put(uint32_t ns, int64_t at, uint32_t workflow = 1) {
    queues.put({from_millis(at), TimerInput::OfInstance{.ns = NamespaceNumber(ns),
                                                        .workflow = WorkflowNumber(workflow)}});
  }
  /// The timers that are taken, as `namespace at deadline`.
  std::vector<std::string> take(int64_t time, size_t most) {
    std::vector<TimerInput> due;
    queues.take(from_millis(time), due, most);
    std::vector<std::string> shown;
    for (const TimerInput& one : due) {
      const auto* const owner = std::get_if<TimerInput::OfInstance>(&one.owner);
      shown.push_back(fmt::format("{} at {}",
                                  owner == nullptr ? 0 : static_cast<uint32_t>(owner->ns),
                                  to_millis(one.deadline)));
    }
    return shown;
  }

  DueQueues queues;
};

TEST_F(DueQueuesTest, LetTheNamespacesTakeTurns) {
  for (int64_t at = 1; at <= 5; ++at) put(1, at);
  put(2, 7);
  put(3, 6);
  put(3, 8);
  EXPECT_THAT(take(9, 4), ElementsAre("1 at 1", "2 at 7", "3 at 6", "1 at 2"));
  EXPECT_THAT(take(9, 1), ElementsAre("3 at 8")) << "behind the namespace that was last";
  EXPECT_THAT(take(9, 9), ElementsAre("1 at 3", "1 at 4", "1 at 5"));
  EXPECT_THAT(take(9, 9), IsEmpty());
}

TEST_F(DueQueuesTest, LetTheWorkflowsOfANamespaceTakeTurns) {
  for (int64_t at = 1; at <= 5; ++at) put(1, at, 10);
  put(1, 6, 11);
  put(1, 7, 12);
  put(1, 9, 12);
  put(2, 8, 10);
  EXPECT_THAT(take(9, 4), ElementsAre("1 at 1", "2 at 8", "1 at 6", "1 at 7"))
      << "a workflow does not wait for those of another one that are due earlier";
  EXPECT_THAT(take(9, 2), ElementsAre("1 at 2", "1 at 9")) << "behind the workflow that was last";
  EXPECT_THAT(take(9, 9), ElementsAre("1 at 3", "1 at 4", "1 at 5"));
}

TEST_F(DueQueuesTest, PassOverAWorkflowWhoseFirstTimerIsNotDue) {
  put(1, 9, 10);
  put(1, 5, 11);
  put(1, 6, 11);
  EXPECT_EQ(queues.next(), from_millis(5));
  EXPECT_THAT(take(8, 9), ElementsAre("1 at 5", "1 at 6"));
  EXPECT_EQ(queues.next(), from_millis(9));
  EXPECT_THAT(take(9, 9), ElementsAre("1 at 9"));
}

TEST_F(DueQueuesTest, GiveNoTimerBeforeItsDeadline) {
  put(1, 5);
  put(1, 9);
  put(2, 7);
  EXPECT_EQ(queues.next(), from_millis(5));
  EXPECT_THAT(take(4, 9), IsEmpty());
  EXPECT_THAT(take(7, 9), ElementsAre("1 at 5", "2 at 7"));
  EXPECT_EQ(queues.next(), from_millis(9));
  EXPECT_THAT(take(8, 9), IsEmpty());
  EXPECT_THAT(take(9, 0), IsEmpty());
  EXPECT_THAT(take(9, 9), ElementsAre("1 at 9"));
  EXPECT_EQ(queues.next(), std::nullopt);
}

TEST_F(DueQueuesTest, HaveOneQueueForTimersWithoutAnInstance) {
  queues.put({from_millis(1), TimerInput::OfDelayedEvent{1}});
  queues.put({from_millis(2), TimerInput::OfGroupedEvent{2}});
  queues.put({from_millis(3), TimerInput::OfSchedule{WorkflowNumber(3)}});
  put(4, 4);
  EXPECT_THAT(take(9, 9), ElementsAre("4 at 4", "0 at 1", "0 at 2", "0 at 3"));
}

}  // namespace
}  // namespace millrace
