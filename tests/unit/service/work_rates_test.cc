// WorkRates: numbers in a second between two looks.
#include "orchestrator/service/work_rates.h"

#include <chrono>

#include <gtest/gtest.h>

namespace millrace {
namespace {

using std::chrono::milliseconds;

TEST(WorkRates, DivideWhatWasDoneByTheTime) {
  WorkRates rates;
  WorkTotals::Sums sums{10, 1};
  EXPECT_EQ(rates.since_last(milliseconds(5'000), sums), nullptr);
  sums = {13, 2, 1};
  EXPECT_EQ(rates.since_last(milliseconds(7'000), sums), Json::parse(R"({"events": 1.5,
    "started": 0.5, "woken": 0.5, "ended": 0, "failed": 0, "published": 0, "timers": 0,
    "deadLetters": 0})"));
  sums[0] += 1;
  EXPECT_EQ(rates.since_last(milliseconds(10'000), sums).at("events"), 0.3) << "one decimal";
}

TEST(WorkRates, HaveNoNumberWithoutATimeBetweenTwoLooks) {
  WorkRates rates;
  const WorkTotals::Sums sums{};
  EXPECT_EQ(rates.since_last(milliseconds(1), sums), nullptr);
  EXPECT_EQ(rates.since_last(milliseconds(1), sums), nullptr);
  EXPECT_TRUE(rates.since_last(milliseconds(2), sums).is_object());
  rates.forget();
  EXPECT_EQ(rates.since_last(milliseconds(3), sums), nullptr);
}

}  // namespace
}  // namespace millrace
