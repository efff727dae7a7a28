// EventAdmission: which events over HTTP the quota of a namespace permits.
#include "orchestrator/service/event_admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/virtual_clock.h"

namespace millrace {
namespace {

NamespaceRecord space(uint32_t number, std::string settings) {
  return {.number = NamespaceNumber(number), .settings = std::move(settings)};
}

TEST(EventAdmission, PermitsTheRateInTheSettingsOfEachNamespace) {
  VirtualClock clock;
  EventAdmission admission(clock);
  const auto shop = space(1, R"({"quotas": {"eventsPerSecond": 10}})");
  const auto bank = space(2, R"({"quotas": {"eventsPerSecond": 1}})");
  EXPECT_TRUE(admission.take(shop, 8));
  const Status refused = admission.take(shop, 3);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "millrace.quota.eventsPerSecond");
  EXPECT_NE(refused.error().message.find("in one request"), std::string::npos)
      << "a larger request is always refused: " << refused.error().message;
  EXPECT_TRUE(admission.take(shop, 2)) << "a refused request counts for nothing";
  EXPECT_TRUE(admission.take(bank, 1));
  EXPECT_FALSE(admission.take(bank, 1));
  clock.advance(Duration(100));
  EXPECT_TRUE(admission.take(shop, 1));
  EXPECT_FALSE(admission.take(shop, 1));
}

TEST(EventAdmission, PermitsTheDefaultRateWithoutTheQuota) {
  VirtualClock clock;
  EventAdmission admission(clock);
  uint32_t number = 0;
  // The last settings cannot be read.
  for (const char* const settings :
       {"", "{}", R"({"quotas": {"calls": 1}})", R"({"eventsPerSecond": 1})"}) {
    const auto shop = space(++number, settings);
    EXPECT_TRUE(admission.take(shop, kDefaultHttpEvents)) << settings;
    const Status refused = admission.take(shop, 1);
    ASSERT_FALSE(refused) << settings;
    EXPECT_EQ(refused.error().code, "millrace.quota.eventsPerSecond");
    clock.advance(std::chrono::seconds(1));
    EXPECT_TRUE(admission.take(shop, kDefaultHttpEvents)) << settings;
  }
}

TEST(EventAdmission, HasNoDefaultForASource) {
  VirtualClock clock;
  EventAdmission admission(clock);
  const auto shop = space(1, R"({"quotas": {"calls": 1}})");
  EXPECT_TRUE(admission.take(shop, kDefaultHttpEvents + 1, WithoutQuota::kNoLimit));
  EXPECT_TRUE(admission.take(shop, kDefaultHttpEvents)) << "the events of a source do not count";
  const auto bank = space(2, R"({"quotas": {"eventsPerSecond": 2}})");
  EXPECT_TRUE(admission.take(bank, 2, WithoutQuota::kNoLimit));
  EXPECT_FALSE(admission.take(bank, 1, WithoutQuota::kNoLimit));
}

TEST(EventAdmission, PermitsEverythingIfTheQuotaIsUnlimited) {
  VirtualClock clock;
  EventAdmission admission(clock);
  const auto shop = space(1, R"({"quotas": {"eventsPerSecond": "unlimited"}})");
  EXPECT_TRUE(admission.take(shop, 1'000'000));
  EXPECT_TRUE(admission.take(shop, 1'000'000));
}

TEST(EventAdmission, FollowsNewSettings) {
  VirtualClock clock;
  EventAdmission admission(clock);
  EXPECT_TRUE(admission.take(space(1, R"({"quotas": {"eventsPerSecond": 2}})"), 2));
  EXPECT_FALSE(admission.take(space(1, R"({"quotas": {"eventsPerSecond": 2}})"), 1));
  EXPECT_TRUE(admission.take(space(1, R"({"quotas": {"eventsPerSecond": 20}})"), 18));
  EXPECT_FALSE(admission.take(space(1, R"({"quotas": {"eventsPerSecond": 20}})"), 1));
  EXPECT_TRUE(admission.take(space(1, "{}"), kDefaultHttpEvents - 20)) << "the use remains";
  EXPECT_FALSE(admission.take(space(1, "{}"), 1));
}

}  // namespace
}  // namespace millrace
