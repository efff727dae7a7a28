// The setting `quotas`: the limit of each quota, and the error for each wrong value.
#include "orchestrator/definition/quota_settings.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/definition/namespace_settings.h"

namespace millrace {
namespace {

using testing::HasSubstr;

TEST(QuotaSettings, HaveDefaults) {
  const auto settings = read_settings(R"({"quotas": {"calls": 5}})");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->quotas.of(Quota::kCalls), 5U);
  EXPECT_EQ(settings->quotas.of(Quota::kInstances), 2'000'000U);
  EXPECT_EQ(settings->quotas.of(Quota::kStoreBytes), uint64_t{256} << 30);
  EXPECT_EQ(settings->quotas.of(Quota::kHistoryBytes), uint64_t{1} << 30);
  EXPECT_EQ(settings->quotas.of(Quota::kEventsPerSecond), kUnlimited);
  EXPECT_EQ(settings->quotas.of(Quota::kWorkflows), 10'000U);
  EXPECT_EQ(NamespaceSettings().quotas.of(Quota::kCalls), 100'000U);
}

TEST(QuotaSettings, SetEachQuota) {
  const auto limits = parse_quotas(*parse_json(
      R"({"instances": 1, "storeBytes": "10GiB", "historyBytes": 1048576, "eventsPerSecond": 9,
          "calls": "unlimited", "workflows": 2, "startKeys": 3, "queuedStarts": 4})"));
  ASSERT_TRUE(limits) << limits.error().message;
  EXPECT_EQ(limits->limits, (std::array<uint64_t, kQuotas>{1, uint64_t{10} << 30, 1 << 20, 9,
                                                           kUnlimited, 2, 3, 4}));
}

TEST(QuotaSettings, LimitEventsByDefaultOverHttpOnly) {
  struct LimitRow {
    const char* settings;
    uint64_t events;
    uint64_t http_events;
  };
  const LimitRow rows[] = {
      {"{}", kUnlimited, kDefaultHttpEvents},
      {R"({"calls": 1})", kUnlimited, kDefaultHttpEvents},
      {R"({"eventsPerSecond": 9})", 9, 9},
      {R"({"eventsPerSecond": 50000})", 50'000, 50'000},
      {R"({"eventsPerSecond": "unlimited"})", kUnlimited, kUnlimited},
  };
  for (const LimitRow& row : rows) {
    const auto limits = parse_quotas(*parse_json(row.settings));
    ASSERT_TRUE(limits) << limits.error().message;
    EXPECT_EQ(limits->of(Quota::kEventsPerSecond), row.events) << row.settings;
    EXPECT_EQ(limits->http_events, row.http_events) << row.settings;
  }
}

TEST(QuotaSettings, NameThePlaceOfAWrongValueAndWhatToWrite) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {"[]", "quotas: write an object"},
      {R"({"instance": 1})",
       "quotas.instance: unknown quota; valid: instances, storeBytes, historyBytes, "
       "eventsPerSecond, calls, workflows, startKeys, queuedStarts"},
      {R"({"instances": 0})", "quotas.instances: write a whole number above zero"},
      {R"({"instances": -1})", "quotas.instances: write a whole number above zero"},
      {R"({"instances": 1.5})", "quotas.instances: write a whole number above zero"},
      {R"({"instances": "10"})", "quotas.instances: write a whole number above zero"},
      {R"({"instances": null})", "quotas.instances: write a whole number above zero"},
      {R"({"storeBytes": "10GB"})", "quotas.storeBytes: write a whole number above zero, a text"},
      {R"({"historyBytes": "64KiB"})", "quotas.historyBytes: write at least 1MiB"},
      {R"({"eventsPerSecond": 2000000})", "quotas.eventsPerSecond: write at most 1000000"},
  };
  for (const auto& [text, words] : wrong) {
    const auto limits = parse_quotas(*parse_json(text));
    ASSERT_FALSE(limits) << text;
    EXPECT_EQ(limits.error().code, "settings.invalid") << text;
    EXPECT_THAT(limits.error().message, HasSubstr(words));
  }
}

TEST(QuotaSettings, GiveEachQuotaAnErrorWithItsName) {
  for (size_t i = 0; i < kQuotas; ++i) {
    const auto quota = static_cast<Quota>(i);
    const Error error = over_quota(quota, 12'345);
    EXPECT_EQ(error.code, "millrace.quota." + std::string(to_string(quota)));
    EXPECT_THAT(error.message, HasSubstr("12345"));
    EXPECT_THAT(error.message, HasSubstr("`quotas." + std::string(to_string(quota)) + "`"));
  }
  EXPECT_THAT(over_quota(Quota::kStoreBytes, uint64_t{200} << 20).message,
              HasSubstr("the namespace has 200MiB or more in the store"));
}

}  // namespace
}  // namespace millrace
