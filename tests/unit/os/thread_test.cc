#include "os/thread.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Thread, RunsBehindTheOtherThreadsOfTheProcess) {
  const int policy = sched_getscheduler(0);
  if (policy != SCHED_OTHER) GTEST_SKIP() << "the test runs with another policy";
  const int niceness = getpriority(PRIO_PROCESS, 0);
  const auto in_a_thread = [](int added) {
    std::pair<int, int> found;
    std::thread([&] {
      run_behind_others(added);
      found = {sched_getscheduler(0), getpriority(PRIO_PROCESS, 0)};
    }).join();
    return found;
  };
  EXPECT_EQ(in_a_thread(0), std::pair(SCHED_BATCH, niceness));
  EXPECT_EQ(in_a_thread(2), std::pair(SCHED_BATCH, std::min(niceness + 2, 19)));
  EXPECT_EQ(sched_getscheduler(0), policy) << "of the thread that started them";
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), niceness);
}

TEST(Thread, KeepsItsPolicyAndPriorityWithShortTimeSlices) {
  const int policy = sched_getscheduler(0);
  if (policy != SCHED_OTHER) GTEST_SKIP() << "the test runs with another policy";
  const int niceness = getpriority(PRIO_PROCESS, 0);
  std::pair<int, int> found;
  std::thread([&] {
    run_promptly();
    found = {sched_getscheduler(0), getpriority(PRIO_PROCESS, 0)};
  }).join();
  EXPECT_EQ(found, std::pair(policy, niceness));
}

}  // namespace
}  // namespace millrace
