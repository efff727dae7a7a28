// StartedTasks: the ids of the started tasks. One thread changes them while other threads read
// them.
#include "orchestrator/outgoing/started_tasks.h"

#include <thread>

#include <gtest/gtest.h>

namespace millrace {
namespace {

InstanceId task(int number) {
  InstanceId id;
  id.bytes[14] = static_cast<uint8_t>(number / 256);
  id.bytes[15] = static_cast<uint8_t>(number % 256);
  return id;
}

TEST(StartedTasks, ContainATaskAfterAddUntilItIsRemoved) {
  StartedTasks started;
  EXPECT_FALSE(started.contains(task(1)));
  started.add(task(1));
  started.add(task(1));
  started.add(task(2));
  EXPECT_TRUE(started.contains(task(1)));
  started.remove(task(1));
  EXPECT_FALSE(started.contains(task(1))) << "one remove() undoes several add() calls";
  EXPECT_TRUE(started.contains(task(2)));
  started.remove(task(3));
  EXPECT_TRUE(started.contains(task(2)));
}

TEST(StartedTasks, CanBeReadByOtherThreadsWhileTheyChange) {
  constexpr int kTasks = 1'000;
  StartedTasks started;
  started.add(task(kTasks));
  size_t seen = 0;
  std::thread reader([&] {
    for (int i = 0; i < kTasks; ++i) seen += started.contains(task(kTasks)) ? 1 : 0;
  });
  for (int i = 0; i < kTasks; ++i) started.add(task(i));
  for (int i = 0; i < kTasks; i += 2) started.remove(task(i));
  reader.join();
  EXPECT_EQ(seen, static_cast<size_t>(kTasks));
  for (int i = 0; i < kTasks; ++i) EXPECT_EQ(started.contains(task(i)), i % 2 == 1) << i;
}

}  // namespace
}  // namespace millrace
