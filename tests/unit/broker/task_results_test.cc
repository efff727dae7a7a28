#include "broker/task_results.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

struct JudgedConsumer {
  const char* name;
  OtherConsumer without_cluster;
  OtherConsumer in_epoch_7;
};

TEST(TaskResults, JudgesTheOtherConsumersOfTheStreamOfAnswers) {
  using enum OtherConsumer;
  const std::vector<JudgedConsumer> rows = {
      {"audit", kKept, kKept},
      {"millracer", kKept, kKept},
      {"", kKept, kKept},
      {"millrace", kDeleted, kDeleted},
      {"millrace-", kDeleted, kDeleted},
      {"millrace-00112233445566778899aabbccddeeff", kDeleted, kDeleted},
      {"millrace-00112233445566778899001122334455", kDeleted, kDeleted},
      {"millrace-99999999999999999999999999999999", kDeleted, kDeleted},
      {"millrace-7x", kDeleted, kDeleted},
      {"millrace-1", kDeleted, kDeleted},
      {"millrace-6", kDeleted, kDeleted},
      {"millrace-8", kDeleted, kYieldedTo},
      {"millrace-10", kDeleted, kYieldedTo},
      {"millrace-18446744073709551615", kDeleted, kYieldedTo},
  };
  for (const JudgedConsumer& row : rows) {
    EXPECT_EQ(judge_consumer(row.name, std::nullopt), row.without_cluster) << row.name;
    EXPECT_EQ(judge_consumer(row.name, 7), row.in_epoch_7) << row.name;
  }
}

}  // namespace
}  // namespace millrace
