// The figures that benchmarks read from the metrics of a server.
#include "bench/metrics_text.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

constexpr const char* kBefore = R"(# HELP millrace_engine_longest_unit_seconds The longest unit.
# TYPE millrace_engine_longest_unit_seconds gauge
millrace_engine_longest_unit_seconds{kind="event"} 0.0012
millrace_engine_longest_unit_seconds{kind="purge"} 0
# TYPE millrace_engine_unit_seconds histogram
millrace_engine_unit_seconds_count 8
millrace_engine_unit_seconds_sum 0.01
millrace_engine_unit_seconds_bucket{le="0.001"} 7
millrace_engine_unit_seconds_bucket{le="0.002"} 8
millrace_engine_unit_seconds_bucket{le="0.5"} 8
millrace_engine_unit_seconds_bucket{le="+Inf"} 8
)";

/// The same metrics later, with these values of the gauge and of the buckets above 0.001.
std::string later(const char* gauge, const char* second, const char* third, const char* last) {
  return std::string("millrace_engine_longest_unit_seconds{kind=\"purge\"} ") + gauge +
         "\nmillrace_engine_unit_seconds_bucket{le=\"0.001\"} 9" +
         "\nmillrace_engine_unit_seconds_bucket{le=\"0.002\"} " + second +
         "\nmillrace_engine_unit_seconds_bucket{le=\"0.5\"} " + third +
         "\nmillrace_engine_unit_seconds_bucket{le=\"+Inf\"} " + last + "\n";
}

TEST(MetricsText, SumsAMetricOverItsLabels) {
  constexpr const char* kText =
      "# HELP a_total a_total 7\na_total{x=\"1 2\"} 3\na_total{x=\"b\"} 4.5\na_total_more 9\nb 1\n";
  EXPECT_EQ(sum_of(kText, "a_total"), 7.5);
  EXPECT_EQ(sum_of(kText, "b"), 1);
  EXPECT_EQ(sum_of(kText, "a"), 0) << "the name of another metric begins with it";
}

TEST(MetricsText, HasTheLongestTurnByItsParts) {
  constexpr const char* kText = R"(millrace_engine_longest_turn_seconds{part="all"} 0.03
millrace_engine_longest_turn_seconds{part="apply"} 0.01
millrace_engine_longest_turn_seconds{part="commit"} 0.015
millrace_engine_longest_turn_seconds{part="perform"} 0.005
millrace_engine_longest_turn_seconds{part="processor"} 0.012
)";
  const auto turn = longest_turn(kText);
  ASSERT_TRUE(turn);
  EXPECT_EQ(turn->all, 0.03);
  EXPECT_EQ(turn->apply, 0.01);
  EXPECT_EQ(turn->commit, 0.015);
  EXPECT_EQ(turn->perform, 0.005);
  EXPECT_EQ(turn->processor, 0.012);
  EXPECT_FALSE(longest_turn(kBefore)) << "an earlier release";
}

TEST(MetricsText, HasTheBucketsOfAHistogram) {
  EXPECT_THAT(buckets_of(kBefore, "millrace_engine_unit_seconds"),
              ElementsAre(Pair(0.001, 7), Pair(0.002, 8), Pair(0.5, 8), Pair(kInfinite, 8)));
  EXPECT_THAT(buckets_of(kBefore, "millrace_other"), IsEmpty());
}

TEST(MetricsText, FindsTheHighestBucketThatGotAValue) {
  const Buckets before{{1, 5}, {2, 7}, {kInfinite, 8}};
  EXPECT_EQ(highest_new_bucket(before, before), std::nullopt);
  EXPECT_EQ(highest_new_bucket(before, {{1, 6}, {2, 8}, {kInfinite, 9}}), 1);
  EXPECT_EQ(highest_new_bucket(before, {{1, 6}, {2, 9}, {kInfinite, 10}}), 2);
  EXPECT_EQ(highest_new_bucket(before, {{1, 5}, {2, 7}, {kInfinite, 9}}), kInfinite);
  EXPECT_EQ(highest_new_bucket({}, {{1, 0}, {2, 3}, {kInfinite, 3}}), 2);
}

TEST(MetricsText, BoundsTheLongestUnitByTheGaugeAndByTheBuckets) {
  EXPECT_EQ(longest_unit(kBefore, later("0.3", "10", "11", "11"))->seconds, 0.3);
  EXPECT_EQ(longest_unit(kBefore, later("0.3", "10", "10", "10"))->seconds, 0.001)
      << "the long unit is from before the first reading";
  EXPECT_EQ(longest_unit(kBefore, later("7.5", "10", "10", "11"))->seconds, 7.5);
  EXPECT_EQ(longest_unit(kBefore, later("0", "10", "11", "11"))->seconds, 0.5)
      << "more than a minute has passed since the long unit";
}

TEST(MetricsText, HasTheKindOfTheLongestUnit) {
  EXPECT_EQ(longest_unit(kBefore, later("0.3", "10", "11", "11"))->kind, "purge");
  EXPECT_EQ(longest_unit(kBefore, later("0", "10", "11", "11"))->kind, "")
      << "of a unit that is no longer in the gauges";
}

TEST(MetricsText, HasNoLongestUnitOfAServerThatDoesNotMeasureIt) {
  EXPECT_FALSE(longest_unit("millrace_batches_total 1\n", "millrace_batches_total 2\n"));
  EXPECT_FALSE(longest_unit(kBefore, kBefore)) << "no unit was measured";
}

}  // namespace
}  // namespace millrace
