// NamespaceSettings: the meaning of each key, and the error for each wrong value.
#include "orchestrator/definition/namespace_settings.h"

#include <chrono>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

NamespaceSettings settings_of(std::string_view text) {
  const auto settings = read_settings(text);
  EXPECT_TRUE(settings) << text << ": " << settings.error().message;
  return settings.value_or(NamespaceSettings());
}

/// `code: message` of the error; empty if the settings are valid.
std::string refusal_of(std::string_view text) {
  const auto settings = read_settings(text);
  return settings ? "" : settings.error().code + ": " + settings.error().message;
}

TEST(NamespaceSettings, AreEmptyIfNoSettingsAreStored) {
  for (const char* const text : {"", "{}"}) {
    const NamespaceSettings settings = settings_of(text);
    EXPECT_THAT(settings.services, IsEmpty());
    EXPECT_THAT(settings.paused, IsEmpty());
    EXPECT_EQ(settings.default_retries, std::nullopt);
    EXPECT_FALSE(settings.has_lifecycle_events());
  }
}

TEST(NamespaceSettings, NameTheTargetOfEachService) {
  const NamespaceSettings settings = settings_of(R"({"services": {
      "charge": {"url": "https://pay/charge"},
      "stock": {"request": "stock.reserve"},
      "mail": {"queue": "millrace.tasks.default.mail"},
      "slow": {"startToCloseTimeout": "1m"}}})");
  const auto target = [&](std::string_view name) {
    return settings.services.find(name)->second.target;
  };
  EXPECT_EQ(target("charge"), TaskTarget(HttpService{"https://pay/charge"}));
  EXPECT_EQ(target("stock"), TaskTarget(NatsService{"stock.reserve"}));
  EXPECT_EQ(target("mail"), TaskTarget(WorkQueue{"millrace.tasks.default.mail"}));
  EXPECT_EQ(target("slow"), std::nullopt) << "the service has a policy, but no target";
}

TEST(NamespaceSettings, NameThePausedServices) {
  EXPECT_THAT(settings_of(R"({"paused": ["mail", "charge"]})").paused,
              ElementsAre("charge", "mail"));
}

TEST(NamespaceSettings, NameTheVocabularyOfTheDefaultRetryPolicy) {
  for (const auto& [name, vocabulary] : {std::pair{"temporal", Vocabulary::kTemporal},
                                         {"steep", Vocabulary::kSteep},
                                         {"zart", Vocabulary::kZart}}) {
    const std::string text = std::string(R"({"defaults": ")") + name + "\"}";
    const auto retries = settings_of(text).default_retries;
    const auto expected = default_policy(vocabulary);
    ASSERT_EQ(retries.has_value(), expected.has_value()) << name;
    if (!expected) continue;
    EXPECT_EQ(retries->attempts, expected->attempts) << name;
    EXPECT_EQ(retries->factor, expected->factor) << name;
  }
}

TEST(NamespaceSettings, EnableLifecycleEventsOnNatsOrByWebhooks) {
  EXPECT_TRUE(settings_of(R"({"lifecycle": true})").has_lifecycle_events());
  const NamespaceSettings settings = settings_of(
      R"({"webhooks": [{"url": "http://all"},
                       {"url": "https://ends", "secret": "token", "types": ["*.failed"]}]})");
  EXPECT_TRUE(settings.has_lifecycle_events());
  ASSERT_EQ(settings.webhooks.size(), 2U);
  EXPECT_THAT(settings.webhooks[0].types, IsEmpty()) << "an empty list selects all types";
  EXPECT_EQ(settings.webhooks[1].secret, "token");
  EXPECT_THAT(settings.webhooks[1].types, ElementsAre("*.failed"));
}

// Retention.

const RetentionRule* rule_in(const NamespaceSettings& settings, std::string_view workflow,
                             InstanceStatus status) {
  return settings.retention.rule_of(workflow, status);
}

TEST(NamespaceSettings, SayWhetherDataOfSecretsIsHidden) {
  EXPECT_FALSE(settings_of("{}").hides_sealed);
  EXPECT_TRUE(settings_of(R"({"sealed": true})").hides_sealed);
}

TEST(NamespaceSettings, KeepEndedInstancesForEverWithoutARule) {
  for (const char* const text : {"{}", R"({"retention": {}})", R"({"retention": {"ended": {}}})",
                                 R"({"retention": {"workflows": {"pay": {"failed": {}}}}})"}) {
    const NamespaceSettings settings = settings_of(text);
    EXPECT_FALSE(settings.retention.has_rules()) << text;
    EXPECT_EQ(rule_in(settings, "pay", InstanceStatus::kFailed), nullptr) << text;
    EXPECT_EQ(settings.retention.least_bytes(), std::nullopt) << text;
  }
}

TEST(NamespaceSettings, HaveRulesWithAnAgeACountAndANumberOfBytes) {
  const NamespaceSettings settings =
      settings_of(R"({"retention": {"ended": {"age": "30d", "count": 1000, "bytes": "10GiB"}}})");
  EXPECT_TRUE(settings.retention.has_rules());
  const RetentionRule* const rule = rule_in(settings, "pay", InstanceStatus::kCancelled);
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(rule->age->fixed, std::chrono::days(30));
  EXPECT_EQ(rule->count, 1000U);
  EXPECT_EQ(rule->bytes, uint64_t{10} << 30);
  EXPECT_EQ(settings.retention.least_bytes(), uint64_t{10} << 30);
  EXPECT_EQ(rule_in(settings, "", InstanceStatus::kFailed), rule)
      << "the rule `ended` is for failed instances, too, if there is no rule `failed`";
  EXPECT_EQ(settings_of(R"({"retention": {"failed": {"bytes": 7}}})").retention.least_bytes(), 7U);
  EXPECT_EQ(
      settings_of(R"({"retention": {"ended": {"age": "P1M"}}})").retention.rules.ended->age->months,
      1);
}

TEST(NamespaceSettings, HaveTheRuleOfAWorkflowInPlaceOfThatOfTheNamespace) {
  using enum InstanceStatus;
  const NamespaceSettings settings = settings_of(R"({"retention": {
      "ended": {"count": 1}, "failed": {"count": 2},
      "workflows": {"both": {"ended": {"count": 3}, "failed": {"count": 4}},
                    "ends": {"ended": {"count": 5}},
                    "fails": {"failed": {"count": 6}},
                    "stays": {"ended": {}}}}})");
  const struct {
    const char* workflow;
    uint64_t complete;
    uint64_t failed;
  } rows[] = {{"other", 1, 2}, {"both", 3, 4}, {"ends", 5, 5}, {"fails", 1, 6}};
  for (const auto& row : rows) {
    EXPECT_EQ(rule_in(settings, row.workflow, kComplete)->count, row.complete) << row.workflow;
    EXPECT_EQ(rule_in(settings, row.workflow, kCancelled)->count, row.complete) << row.workflow;
    EXPECT_EQ(rule_in(settings, row.workflow, kFailed)->count, row.failed) << row.workflow;
    EXPECT_EQ(rule_in(settings, row.workflow, kTimedOut)->count, row.failed) << row.workflow;
  }
  EXPECT_EQ(rule_in(settings, "stays", kComplete), nullptr);
  EXPECT_EQ(rule_in(settings, "stays", kFailed), nullptr);
}

TEST(NamespaceSettings, LimitTheHistoryOfAnInstance) {
  EXPECT_FALSE(settings_of("{}").retention.history.records);
  const NamespaceSettings settings =
      settings_of(R"({"retention": {"history": {"records": 100, "bytes": "64KiB"}}})");
  EXPECT_EQ(settings.retention.history.records, 100U);
  EXPECT_EQ(settings.retention.history.bytes, uint64_t{64} << 10);
  EXPECT_FALSE(settings.retention.has_rules()) << "the limits delete no instance";
  EXPECT_TRUE(settings.retention.needs_passes()) << "a pass trims the histories";
}

TEST(NamespaceSettings, HaveTheHistoryLimitsOfAWorkflowInPlaceOfThoseOfTheNamespace) {
  const RetentionSettings retention = settings_of(R"({"retention": {
      "history": {"records": 100, "bytes": "64KiB"},
      "workflows": {"loops": {"history": {"records": 5000}}, "stays": {"history": {}},
                    "ends": {"ended": {"count": 5}}}}})")
                                          .retention;
  EXPECT_EQ(retention.history_of("loops").records, 5'000U);
  EXPECT_FALSE(retention.history_of("loops").bytes) << "both limits are replaced";
  EXPECT_FALSE(retention.history_of("stays").records) << "the whole history stays";
  EXPECT_FALSE(retention.history_of("stays").bytes);
  for (const char* const workflow : {"ends", "other", ""}) {
    EXPECT_EQ(retention.history_of(workflow).records, 100U) << workflow;
  }
  EXPECT_TRUE(settings_of(R"({"retention": {"workflows": {"a": {"history": {"records": 100}}}}})")
                  .retention.needs_passes());
  EXPECT_FALSE(settings_of(R"({"retention": {"workflows": {"a": {"history": {}}}}})")
                   .retention.needs_passes());
}

TEST(NamespaceSettings, LimitTheDeadLettersByAgeAndByCount) {
  EXPECT_FALSE(settings_of(R"({"retention": {}})").retention.dead_letters);
  const auto rule_of = [](const char* text) {
    return settings_of(text).retention.dead_letters.value_or(DeadLetterRule());
  };
  const DeadLetterRule both =
      rule_of(R"({"retention": {"deadLetters": {"age": "3d", "count": 1000}}})");
  ASSERT_TRUE(both.age);
  EXPECT_EQ(both.age->fixed, std::chrono::days(3));
  EXPECT_EQ(both.count, 1000U);
  const DeadLetterRule by_age = rule_of(R"({"retention": {"deadLetters": {"age": "P1M"}}})");
  ASSERT_TRUE(by_age.age);
  EXPECT_EQ(by_age.age->months, 1);
  EXPECT_FALSE(by_age.count);
  const NamespaceSettings by_count = settings_of(R"({"retention": {"deadLetters": {"count": 1}}})");
  ASSERT_TRUE(by_count.retention.dead_letters);
  EXPECT_FALSE(by_count.retention.dead_letters->age);
  EXPECT_EQ(by_count.retention.dead_letters->count, 1U);
  EXPECT_FALSE(by_count.retention.has_rules()) << "the rule deletes no instance";
}

TEST(NamespaceSettings, AreRefusedWithThePlaceOfAWrongRule) {
  const std::pair<const char*, std::string> cases[] = {
      {R"({"retention": 7})",
       R"(retention: write an object with "ended", "failed", "workflows", "history", )"
       R"("deadLetters" or "archive")"},
      {R"({"retention": {"complete": {}}})",
       "retention.complete: unknown key; valid: ended, failed, workflows, history, deadLetters, "
       "archive"},
      {R"({"retention": {"archive": "yes"}})", "retention.archive: write true or false"},
      {R"({"retention": {"ended": "30d"}})",
       R"(retention.ended: write an object with "age", "count" or "bytes"; {} keeps instances )"
       "for ever"},
      {R"({"retention": {"ended": {"days": 7}}})",
       "retention.ended.days: unknown key; valid: age, count, bytes"},
      {R"({"retention": {"ended": {"age": 30}}})",
       R"(retention.ended.age: write a duration of at least a minute, such as "30d")"},
      {R"({"retention": {"ended": {"age": "30"}}})",
       R"(retention.ended.age: "30" is 30 ms; write a duration of at least a minute, such as "30d")"},
      {R"({"retention": {"ended": {"age": "0d"}}})",
       R"(retention.ended.age: "0d" is zero; it must be longer)"},
      {R"({"retention": {"failed": {"count": 0}}})",
       "retention.failed.count: write a whole number above zero"},
      {R"({"retention": {"failed": {"count": 1.5}}})",
       "retention.failed.count: write a whole number above zero"},
      {R"({"retention": {"failed": {"bytes": "10GB"}}})",
       R"(retention.failed.bytes: write a whole number above zero, or a text such as "10GiB")"},
      {R"({"retention": {"workflows": []}})",
       "retention.workflows: write an object that maps ids of workflows to their rules"},
      {R"({"retention": {"workflows": {"a b": {}}}})",
       R"(retention.workflows: "a b" is not the id of a workflow)"},
      {R"({"retention": {"workflows": {"pay": {"age": "1d"}}}})",
       "retention.workflows.pay.age: unknown key; valid: ended, failed, history"},
      {R"({"retention": {"workflows": {"pay": {"history": {"records": 99}}}}})",
       "retention.workflows.pay.history.records: write a number of at least 100"},
      {R"({"retention": {"workflows": {"pay": "30d"}}})",
       R"(retention.workflows.pay: write an object with "ended", "failed" or "history")"},
      {R"({"retention": {"workflows": {"pay": {"ended": {"count": -1}}}}})",
       "retention.workflows.pay.ended.count: write a whole number above zero"},
      {R"({"retention": {"history": 100}})",
       R"(retention.history: write an object with "records" or "bytes")"},
      {R"({"retention": {"history": {"records": 99}}})",
       "retention.history.records: write a number of at least 100"},
      {R"({"retention": {"history": {"bytes": "63KiB"}}})",
       "retention.history.bytes: write at least 64KiB"},
      {R"({"retention": {"history": {"age": "1d"}}})",
       "retention.history.age: unknown key; valid: records, bytes"},
      {R"({"retention": {"deadLetters": "3d"}})",
       R"(retention.deadLetters: write an object with "age" or "count")"},
      {R"({"retention": {"deadLetters": {}}})",
       R"(retention.deadLetters: write an object with "age" or "count")"},
      {R"({"retention": {"deadLetters": {"age": "59s"}}})",
       R"(retention.deadLetters.age: "59s" is 59000 ms; write a duration of at least a minute, )"
       R"(such as "30d")"},
      {R"({"retention": {"deadLetters": {"count": 0}}})",
       "retention.deadLetters.count: write a whole number above zero"},
      {R"({"retention": {"deadLetters": {"bytes": "1GiB"}}})",
       "retention.deadLetters.bytes: unknown key; valid: age, count"},
  };
  for (const auto& [text, refusal] : cases) {
    EXPECT_EQ(refusal_of(text), "settings.invalid: " + refusal) << text;
  }
}

TEST(NamespaceSettings, AreRefusedWithThePlaceOfTheMistakeAndTheCorrection) {
  constexpr std::string_view kPlaces =
      R"(write {"url": "http://…"}, {"request": "subject"} or {"queue": "subject"}, )"
      R"(and optionally "retries" and the timeouts of its calls)";
  const std::string charge = "settings.invalid: services.charge";
  const std::pair<const char*, std::string> cases[] = {
      {"[]", "settings.invalid: settings: write an object"},
      {R"({"services": []})",
       "settings.invalid: services: write an object that maps names of services to their targets"},
      {R"({"services": {"charge": {}}})", charge + ": " + std::string(kPlaces)},
      {R"({"services": {"charge": {"url": "http://a", "request": "b"}}})",
       charge + ": " + std::string(kPlaces)},
      {R"({"services": {"charge": {"url": 1}}})", charge + ".url: write a string"},
      {R"({"services": {"charge": {"url": "ftp://a"}}})",
       charge + ".url: this is not an HTTP URL; write http://… or https://…"},
      {R"({"services": {"charge": {"request": "a b"}}})",
       charge + ".request: this is not a valid subject to publish to"},
      {R"({"services": {"charge": {"queue": "elsewhere.mail"}}})",
       charge + ".queue: a work queue's subject begins with millrace.tasks."},
      {R"({"paused": "mail"})", "settings.invalid: paused: write a list of names"},
      {R"({"paused": ["mail", 1]})", "settings.invalid: paused[1]: write a name"},
      {R"({"defaults": "cadence"})",
       "settings.invalid: defaults: write stevora, temporal, steep, zart or direktiv"},
      {R"({"lifecycle": 1})", "settings.invalid: lifecycle: write true or false"},
      {R"({"sealed": "yes"})", "settings.invalid: sealed: write true or false"},
      {R"({"webhooks": {}})", "settings.invalid: webhooks: write a list"},
      {R"({"webhooks": ["http://a"]})",
       R"(settings.invalid: webhooks[0]: write an object with a "url")"},
      {R"({"webhooks": [{"url": "http://a"}, {"secret": "token"}]})",
       "settings.invalid: webhooks[1].url: write the HTTP URL that receives the events"},
      {R"({"webhooks": [{"url": "http://a", "headers": {}}]})",
       "settings.invalid: webhooks[0].headers: unknown key; valid: url, secret, types, "
       "retries"},
  };
  for (const auto& [text, refusal] : cases) EXPECT_EQ(refusal_of(text), refusal) << text;
}

TEST(NamespaceSettings, AreRefusedWithTheNearestKeyThatExists) {
  EXPECT_EQ(refusal_of(R"({"webhooks": [{"uri": "http://a"}]})"),
            "settings.invalid: webhooks[0].uri: unknown key; valid: url, secret, types, retries; "
            "did you mean \"url\"?");
  const std::string setting = refusal_of(R"({"service": {}})");
  EXPECT_THAT(setting, testing::StartsWith("settings.invalid: service: unknown setting; valid: "));
  EXPECT_THAT(setting, testing::EndsWith("; did you mean \"services\"?"));
  for (const auto& [key, nearest] :
       {std::pair("uri", "url"), std::pair("quue", "queue"), std::pair("retires", "retries"),
        std::pair("startToCloseTimeOuts", "startToCloseTimeout")}) {
    const std::string refusal = refusal_of(
        fmt::format(R"({{"services": {{"charge": {{"url": "http://a", "{}": "x"}}}}}})", key));
    EXPECT_THAT(refusal, testing::StartsWith(fmt::format(
                             "settings.invalid: services.charge.{}: unknown key; valid: url, "
                             "request, queue, retries, ",
                             key)));
    EXPECT_THAT(refusal, testing::EndsWith(fmt::format("; did you mean \"{}\"?", nearest)));
  }
}

TEST(NamespaceSettings, AreRefusedUnlessTheyAreJson) { EXPECT_NE(refusal_of("{"), ""); }

TEST(NamespaceSettings, HaveADefaultQueueForAServiceWithoutATarget) {
  EXPECT_EQ(default_queue("shop", "mail").subject, "millrace.tasks.shop.mail");
  EXPECT_NE(default_queue("shop", "a.b").subject, "millrace.tasks.shop.a.b")
      << "a dot in the name of a service must not separate two parts of the subject";
}

}  // namespace
}  // namespace millrace
