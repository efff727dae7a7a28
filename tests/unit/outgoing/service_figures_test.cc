// ServiceFigures: percentiles of the latest starts, and the latest error.
#include "orchestrator/outgoing/service_figures.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr NamespaceNumber kChargingShop{1};

TEST(ServiceFigures, HaveNothingBeforeTheFirstStart) {
  ServiceFigures figures;
  figures.number_of(kChargingShop, "charge");
  EXPECT_FALSE(figures.of(kChargingShop, "charge").p50);
  EXPECT_FALSE(figures.of(kChargingShop, "charge").last_failure);
  EXPECT_FALSE(figures.of(kChargingShop, "unknown").p99);
}

TEST(ServiceFigures, HaveThePercentilesOfTheLatestStarts) {
  ServiceFigures figures;
  const auto charge = figures.number_of(kChargingShop, "charge");
  figures.started(charge, Duration(7));
  EXPECT_EQ(figures.of(kChargingShop, "charge").p50, Duration(7));
  EXPECT_EQ(figures.of(kChargingShop, "charge").p99, Duration(7));
  for (int i = 1; i <= 100; ++i) figures.started(charge, Duration(i));
  for (size_t i = 0; i < ServiceFigures::kLatestStarts - 100; ++i) {
    figures.started(charge, Duration(1000));
  }
  // 100 starts took 1 to 100 ms and 156 took a second; the first one is no longer counted.
  EXPECT_EQ(figures.of(kChargingShop, "charge").p50, Duration(1000));
  for (size_t i = 0; i < ServiceFigures::kLatestStarts; ++i) {
    figures.started(charge, Duration(i < 3 ? 900 : 5));
  }
  EXPECT_EQ(figures.of(kChargingShop, "charge").p50, Duration(5));
  EXPECT_EQ(figures.of(kChargingShop, "charge").p99, Duration(900))
      << "253 of 256 are 98.8 %, so the 99th percent has one of the slow starts";
}

TEST(ServiceFigures, CountEachNamespaceAlone) {
  ServiceFigures figures;
  const auto number = figures.number_of(kChargingShop, "charge");
  EXPECT_NE(figures.number_of(NamespaceNumber(2), "charge"), number);
  EXPECT_EQ(figures.number_of(kChargingShop, "charge"), number);
  figures.started(number, Duration(3));
  EXPECT_FALSE(figures.of(NamespaceNumber(2), "charge").p50);
}

TEST(ServiceFigures, HaveTheLatestErrorWithoutDataOfSecrets) {
  ServiceFigures figures;
  const auto charge = figures.number_of(kChargingShop, "charge");
  figures.failed(charge, {"card.declined", std::string(2'000, 'x')}, false, from_millis(5));
  auto last = figures.of(kChargingShop, "charge").last_failure;
  ASSERT_TRUE(last);
  EXPECT_EQ(last->code, "card.declined");
  EXPECT_EQ(last->message, std::string(ServiceFigures::kMostMessageBytes, 'x'));
  figures.failed(charge, {std::string(2'000, 'c'), ""}, false, from_millis(5));
  EXPECT_EQ(figures.of(kChargingShop, "charge").last_failure->code.size(),
            ServiceFigures::kMostMessageBytes);
  figures.failed(charge, {"card.lost", "4242"}, true, from_millis(6));
  last = figures.of(kChargingShop, "charge").last_failure;
  ASSERT_TRUE(last);
  EXPECT_EQ(last->code, "card.lost");
  EXPECT_EQ(last->message, std::nullopt);
  EXPECT_EQ(last->at, from_millis(6));
}

TEST(ServiceFigures, EndAtTheirMostServices) {
  ServiceFigures figures;
  for (size_t i = 0; i < ServiceFigures::kMostServices; ++i) {
    EXPECT_EQ(figures.number_of(kChargingShop, std::to_string(i)), i + 1);
  }
  EXPECT_EQ(figures.number_of(kChargingShop, "further"), 0U);
  figures.started(0, Duration(1));
  figures.failed(0, {"a", "b"}, false, {});
  EXPECT_FALSE(figures.of(kChargingShop, "further").p50);
}

}  // namespace
}  // namespace millrace
