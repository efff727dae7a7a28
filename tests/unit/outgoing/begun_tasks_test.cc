// BegunTasks: one thread keeps it, others look at it.
#include "orchestrator/outgoing/begun_tasks.h"

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

TEST(BegunTasks, HaveATaskFromAddToRemove) {
  BegunTasks begun;
  EXPECT_FALSE(begun.contains(task(1)));
  begun.add(task(1));
  begun.add(task(1));
  begun.add(task(2));
  EXPECT_TRUE(begun.contains(task(1)));
  begun.remove(task(1));
  EXPECT_FALSE(begun.contains(task(1))) << "however often it was added";
  EXPECT_TRUE(begun.contains(task(2)));
  begun.remove(task(3));
  EXPECT_TRUE(begun.contains(task(2)));
}

TEST(BegunTasks, AreSeenByOtherThreadsWhileTheyChange) {
  constexpr int kTasks = 1'000;
  BegunTasks begun;
  begun.add(task(kTasks));
  size_t seen = 0;
  std::thread reader([&] {
    for (int i = 0; i < kTasks; ++i) seen += begun.contains(task(kTasks)) ? 1 : 0;
  });
  for (int i = 0; i < kTasks; ++i) begun.add(task(i));
  for (int i = 0; i < kTasks; i += 2) begun.remove(task(i));
  reader.join();
  EXPECT_EQ(seen, static_cast<size_t>(kTasks));
  for (int i = 0; i < kTasks; ++i) EXPECT_EQ(begun.contains(task(i)), i % 2 == 1) << i;
}

}  // namespace
}  // namespace millrace
