#include "model/task.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Task, HasATimeoutIfADeadlineOrATimeoutOfTheAttemptOrAHeartbeatTimeoutEndsIt) {
  EXPECT_FALSE(Task().has_timeout());
  Task task;
  task.deadline = TimePoint();
  EXPECT_TRUE(task.has_timeout());
  task = {};
  task.start_to_close = Duration(1);
  EXPECT_TRUE(task.has_timeout());
  task = {};
  task.heartbeat = Duration(1);
  EXPECT_TRUE(task.has_timeout());
}

}  // namespace
}  // namespace millrace
