// Series: steps of ten seconds, the last hour of them.
#include "orchestrator/service/series.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

const TimePoint kBegin = from_millis(1'700'000'000'000);

WorkTotals::Sums events(uint64_t number) {
  WorkTotals::Sums sums{};
  sums[0] = number;
  return sums;
}

TEST(SeriesTest, HasTheDifferencesOfSumsAndTheGauges) {
  Series series;
  EXPECT_EQ(series.show({}, std::nullopt)->at("from"), nullptr);
  series.sample(kBegin, events(100), {});
  series.sample(kBegin + Series::kStep, events(107), {1, 2, 3, 4});
  series.sample(kBegin + 2 * Series::kStep, events(107), {5, 6, 7, 8});
  const Json shown = series.show({"events", "httpRunning"}, std::nullopt).value();
  EXPECT_EQ(shown, (Json{{"step", 10},
                         {"from", format_rfc3339(kBegin)},
                         {"series", {{"events", {7, 0}}, {"httpRunning", {2, 6}}}}}));
  EXPECT_EQ(series.show({}, std::nullopt)->at("series").size(),
            WorkTotals::kNames.size() + Series::kGauges.size());
}

TEST(SeriesTest, BeginsAfterATime) {
  Series series;
  for (int i = 0; i <= 3; ++i) {
    series.sample(kBegin + i * Series::kStep, events(static_cast<uint64_t>(i)), {});
  }
  const Json shown = series.show({"events"}, kBegin + 2 * Series::kStep).value();
  EXPECT_EQ(shown["series"]["events"], Json::array({1}));
  EXPECT_EQ(shown["from"], format_rfc3339(kBegin + 2 * Series::kStep));
  EXPECT_EQ(series.show({"events"}, kBegin + 3 * Series::kStep)->at("from"), nullptr);
}

TEST(SeriesTest, KeepsAnHour) {
  Series series;
  for (size_t i = 0; i < Series::kSteps + 5; ++i) {
    series.sample(kBegin + static_cast<int>(i) * Series::kStep, events(i), {});
  }
  EXPECT_EQ(series.show({"events"}, std::nullopt)->at("series").at("events").size(),
            Series::kSteps);
}

TEST(SeriesTest, RefusesAnUnknownName) {
  const auto shown = Series().show({"weather"}, std::nullopt);
  ASSERT_FALSE(shown);
  EXPECT_EQ(shown.error().code, "request.parameter");
}

TEST(WorkTotalsTest, AddUpWhatBatchesDid) {
  WorkTotals totals;
  BatchCounts counts;
  counts.events = 3;
  counts.ended[static_cast<size_t>(InstanceStatus::kComplete)] = 2;
  counts.ended[static_cast<size_t>(InstanceStatus::kTimedOut)] = 1;
  totals.add(counts);
  totals.add(counts);
  EXPECT_EQ(totals.sums(), (WorkTotals::Sums{6, 0, 0, 6, 2, 0, 0, 0}));
}

}  // namespace
}  // namespace millrace
