// The times of threads that benchmarks read from the files `schedstat`.
#include "bench/thread_times.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace millrace {
namespace {

TEST(ThreadTimes, AreTheFirstTwoNumbersOfSchedstatInSeconds) {
  const auto time = parse_schedstat("1500000000 250000000 42\n");
  ASSERT_TRUE(time);
  EXPECT_EQ(time->runs, 1.5);
  EXPECT_EQ(time->waits, 0.25);
  for (const char* const text : {"", "17", "a b c"}) {
    EXPECT_FALSE(parse_schedstat(text)) << text;
  }
}

TEST(ThreadTimes, HaveWhatWasAddedBetweenTwoReadings) {
  const ThreadTimes before{{"engine", {.runs = 2, .waits = 1}}, {"reader", {.runs = 5}}};
  const ThreadTimes after{
      {"engine", {.runs = 3.5, .waits = 1.25}}, {"reader", {.runs = 4}}, {"http", {.runs = 0.5}}};
  const ThreadTimes added = added_between(before, after);
  EXPECT_EQ(added.at("engine").runs, 1.5);
  EXPECT_EQ(added.at("engine").waits, 0.25);
  EXPECT_EQ(added.at("reader").runs, 0) << "one of its threads has ended";
  EXPECT_EQ(added.at("http").runs, 0.5);
}

TEST(ThreadTimes, AreShownInPercentOfAnInterval) {
  const ThreadTimes times{{"engine", {.runs = 6, .waits = 2}},
                          {"checkpoint", {.runs = 1, .waits = 1.5}},
                          {"jq-pool", {.runs = 2}},
                          {"reader", {.runs = 0.1}}};
  EXPECT_EQ(in_percent(times, "engine", 10), "60 + 20");
  EXPECT_EQ(in_percent(times, "other", 10), "-");
  EXPECT_EQ(busiest(times, "engine", 10, 2), "checkpoint 10 + 15, jq-pool 20 + 0");
  EXPECT_EQ(busiest({}, "engine", 10, 2), "-");
}

TEST(ThreadTimes, AreThoseOfTheThreadsOfAProcess) {
  for (const auto& [name, time] : thread_times(getpid())) {
    EXPECT_FALSE(name.empty());
    EXPECT_GE(time.runs, 0) << name;
    EXPECT_GE(time.waits, 0) << name;
  }
  EXPECT_TRUE(thread_times(-1).empty());
}

}  // namespace
}  // namespace millrace
