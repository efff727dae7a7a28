// settings_warnings: warns of valid settings that do not have the effect that they seem to have.
#include "orchestrator/batch/commands/settings_warnings.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/definition/namespace_settings.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

/// The warnings for valid settings, as `path: message`. The namespace has the workflow `pay`.
std::vector<std::string> warnings_for(const Json& settings) {
  const auto parsed = parse_settings(settings);
  EXPECT_TRUE(parsed) << parsed.error().message;
  std::vector<std::string> warnings;
  for (const Json& one : settings_warnings(settings, [](auto id) { return id == "pay"; })) {
    EXPECT_EQ(one.size(), 2U) << one;
    warnings.push_back(one["path"].get<std::string>() + ": " + one["message"].get<std::string>());
  }
  return warnings;
}

Json service(const std::string& members) {
  return Json::parse(R"({"services": {"a": {"url": "http://a", )" + members + "}}}");
}
Json webhook(const std::string& members) {
  return Json::parse(R"({"webhooks": [{"url": "http://a", )" + members + "}]}");
}

TEST(SettingsWarnings, NameTheSettingAndTheCorrection) {
  const struct {
    Json settings;
    std::string warning;
  } cases[] = {
      {service(R"("maxRuntime": "30")"),
       "services.a.maxRuntime: 30 without a unit is milliseconds; write 30ms, or 30s for seconds"},
      {service(R"("deadline": {"timeout": "60", "errorOnTimeout": true})"),
       "services.a.deadline.timeout: 60 without a unit is milliseconds; write 60ms, or 60s for "
       "seconds"},
      {service(R"("retries": {"vocabulary": "steep", "maxAttempts": 3, "delay": "5"})"),
       "services.a.retries.delay: 5 without a unit is milliseconds; write 5ms, or 5s for seconds"},
      {service(R"x("retry": "fixed(3, 5)")x"),
       "services.a.retry: 5 without a unit is milliseconds; write fixed(3, 5ms), or fixed(3, 5s) "
       "for seconds"},
      {service(R"("retries": {"max_attempts": 3, "codes": ["late", "direktiv.statetimeout"]})"),
       "services.a.retries.codes[1]: millrace does not raise an error that "
       "\"direktiv.statetimeout\" matches; did you mean \"direktiv.stateTimeout\"? If not, remove "
       "this entry"},
      {webhook(R"x("retries": "fixed(3, 5)")x"),
       "webhooks[0].retries: 5 without a unit is milliseconds; write fixed(3, 5ms), or fixed(3, "
       "5s) for seconds"},
      {webhook(R"("types": ["*", "millrace.instance.complete"])"),
       "webhooks[0].types[1]: no event has the type \"millrace.instance.complete\", so the "
       "webhook sends none for it; did you mean \"millrace.instance.completed\"?"},
      {Json::parse(R"({"retention": {"ended": {"age": "100000"}}})"),
       "retention.ended.age: 100000 without a unit is milliseconds (100 s); write 100000ms, or "
       "100000s for seconds"},
      {Json::parse(R"({"retention": {"workflows": {"pay": {"failed": {"age": "60000"}}}}})"),
       "retention.workflows.pay.failed.age: 60000 without a unit is milliseconds (1 min); write "
       "60000ms, or 60000s for seconds"},
      {Json::parse(R"({"retention": {"deadLetters": {"age": "60000"}}})"),
       "retention.deadLetters.age: 60000 without a unit is milliseconds (1 min); write 60000ms, "
       "or 60000s for seconds"},
      {Json::parse(R"({"retention": {"ended": {"age": "172800000"}}})"),
       "retention.ended.age: 172800000 without a unit is milliseconds (2 d); write 172800000ms, "
       "or 172800000s for seconds"},
      {Json::parse(R"({"retention": {"ended": {"age": "60001"}}})"),
       "retention.ended.age: 60001 without a unit is milliseconds; write 60001ms, or 60001s for "
       "seconds"},
      {Json::parse(R"({"retention": {"workflows": {"pya": {"ended": {}}}}})"),
       "retention.workflows.pya: the namespace has no workflow \"pya\", so these rules apply to no "
       "instance; correct the id, or apply the workflow"},
      {Json::parse(R"({"retention": {"ended": {}, "archive": true}})"),
       "retention.archive: no rule deletes ended instances, so the archive gets only those that "
       "`instance delete` deletes by a filter; write a rule, such as \"ended\": {\"age\": "
       "\"30d\"}"},
  };
  for (const auto& [settings, warning] : cases) {
    EXPECT_THAT(warnings_for(settings), ElementsAre(warning));
  }
}

TEST(SettingsWarnings, ConcernRulesOfRetentionWithHigherBytesThanAnother) {
  const auto paths = [](const char* retention) {
    std::vector<std::string> found;
    for (const std::string& one : warnings_for({{"retention", Json::parse(retention)}})) {
      found.push_back(one.substr(0, one.find(": ")));
    }
    return found;
  };
  EXPECT_THAT(warnings_for({{"retention", Json::parse(R"({
                  "ended": {"bytes": "10GiB"}, "failed": {"bytes": "50GiB"}})")}}),
              ElementsAre(AllOf(StartsWith("retention.failed.bytes: "),
                                HasSubstr("the lower one in retention.ended.bytes"))));
  EXPECT_THAT(paths(R"({"ended": {"bytes": 5}, "failed": {"bytes": 4}})"),
              ElementsAre("retention.ended.bytes"));
  EXPECT_THAT(paths(R"({"ended": {"bytes": 4}, "workflows": {"pay": {"failed": {"bytes": 6}}}})"),
              ElementsAre("retention.workflows.pay.failed.bytes"));
  EXPECT_THAT(paths(R"({"ended": {"bytes": 4}, "workflows": {"pay": {"ended": {"bytes": 4}}}})"),
              IsEmpty());
  EXPECT_THAT(paths(R"({"ended": {"bytes": 1024}, "failed": {"bytes": "1KiB"}})"), IsEmpty());
}

TEST(SettingsWarnings, ConcernBytesOfRetentionIfSomeEndedInstancesHaveNone) {
  const auto warnings = [](const char* retention) {
    return warnings_for({{"retention", Json::parse(retention)}});
  };
  EXPECT_THAT(
      warnings(R"({"ended": {"bytes": "1MiB"}, "failed": {"age": "90d"}})"),
      ElementsAre("retention.ended.bytes: failed instances have no limit \"bytes\", but this "
                  "limit is compared with the bytes of the whole namespace, so if they "
                  "have more than this, each instance with this limit is deleted within a "
                  "minute of its end; write the same limit for them, or use \"age\" and "
                  "\"count\" here"));
  EXPECT_THAT(warnings(R"({"failed": {"bytes": 4}})"),
              ElementsAre(StartsWith("retention.failed.bytes: complete instances have no ")));
  EXPECT_THAT(warnings(R"({"workflows": {"pay": {"ended": {"bytes": 4}}}})"),
              ElementsAre(StartsWith("retention.workflows.pay.ended.bytes: complete instances ")));
  EXPECT_THAT(warnings(R"({"ended": {"bytes": 4}, "workflows": {"pay": {"ended": {}}}})"),
              ElementsAre(StartsWith(
                  "retention.ended.bytes: complete instances of workflow \"pay\" have no ")));
  EXPECT_THAT(
      warnings(R"({"ended": {"bytes": 4}, "workflows": {"pay": {"failed": {"count": 1}}}})"),
      ElementsAre(
          StartsWith("retention.ended.bytes: failed instances of workflow \"pay\" have no ")));
  EXPECT_THAT(warnings(R"({"ended": {"bytes": 4, "age": "1d"},
                           "workflows": {"pay": {"history": {"records": 100}}}})"),
              IsEmpty());
}

TEST(SettingsWarnings, ListAllTypesOfLifecycleEventsIfNoneIsSimilarToTheGivenType) {
  const auto warnings = warnings_for(webhook(R"("types": ["order.paid"])"));
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_THAT(warnings[0], HasSubstr("; write one of millrace.instance.started, "));
}

TEST(SettingsWarnings, AreAbsentForSettingsWithTheExpectedEffect) {
  const Json settings[] = {
      Json::object(),
      service(R"("maxRuntime": 30000)"),
      service(R"("maxRuntime": "30s")"),
      service(R"("maxRuntime": "PT30S")"),
      service(R"x("retry": "fixed(3, 0)")x"),
      service(R"("retries": {"max_attempts": 3, "codes": ["late", "direktiv.stateTimeout"]})"),
      webhook(R"("types": ["*", "millrace.retry.scheduled", "millrace.step.*"])"),
      Json{{"lifecycle", true}, {"paused", Json::array()}},
      Json::parse(R"({"retention": {"workflows": {"pay": {"failed": {"age": "2d"}}},
                                    "archive": true}})"),
      Json::parse(R"({"retention": {"history": {"records": 1000}, "archive": false}})"),
  };
  for (const Json& one : settings) EXPECT_THAT(warnings_for(one), IsEmpty()) << one;
}

TEST(SettingsWarnings, AreLimitedToAHundredForAllServicesAndWebhooksTogether) {
  Json settings = Json::object();
  const auto set_services = [&](size_t count) {
    for (size_t i = 0; i < count; ++i) {
      settings["services"]["s" + std::to_string(i)] = {{"url", "http://a"}, {"maxRuntime", "30"}};
    }
  };
  set_services(99);
  settings["webhooks"] = webhook(R"("types": ["order.paid"])")["webhooks"];
  EXPECT_THAT(warnings_for(settings), SizeIs(100));
  EXPECT_TRUE(warnings_for(settings).back().starts_with("webhooks[0].types[0]: "));
  set_services(101);
  EXPECT_THAT(warnings_for(settings), SizeIs(100));
}

}  // namespace
}  // namespace millrace
