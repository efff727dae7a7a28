// Settings of a namespace that a later release or damage has made unreadable: millrace sends
// nothing to a wrong place, and loses nothing. Warnings about valid settings that are probably
// mistakes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kSettings =
    R"({"services": {"charge": {"url": "http://charge"}},
        "webhooks": [{"url": "http://hook", "types": ["millrace.instance.started"]}]})";

constexpr const char* kSetOrder = R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
- {id: tax, type: knative-global, service: tax}
states:
- {id: pay, type: action, async: true, action: {function: charge}, transition: tax}
- {id: tax, type: action, async: true, action: {function: tax}}
)";

TEST(ServiceSettings, HoldBackTasksAndWebhooksWhileTheyAreUnreadable) {
  for (const char* const text : {R"({"services": 5})", "{", R"({"later": true})"}) {
    World world;
    world.must(CreateNamespace{.name = "default", .settings = Json::parse(kSettings)});
    world.apply(kSetOrder);
    world.receivers.answer = [](const Event&) {
      return WebhookFailure{.error = {"webhook.refused", "away"}};
    };
    world.start("order");
    ASSERT_THAT(world.functions.tasks(), SizeIs(2));
    const size_t asked = world.receivers.seen.size();
    world.functions.be_replaced();
    world.crash();
    world.change_store([&](Transaction& tx) {
      auto record = read_namespace(tx, "default");
      ASSERT_TRUE(record && *record);
      (*record)->settings = text;
      write_namespace(tx, "default", **record);
    });
    world.recover();
    world.run_for(minutes(5));
    EXPECT_THAT(world.functions.tasks(), IsEmpty()) << text;
    EXPECT_THAT(world.receivers.seen, SizeIs(asked)) << text;
    const Snapshot view = *Snapshot::take(world.environment());
    const Json unreadable = world.queries().unreadable_settings(view).value();
    ASSERT_THAT(unreadable, SizeIs(1)) << text;
    EXPECT_EQ(unreadable[0]["namespace"], "default");
    const Json listed = world.queries().namespaces(view).value()["items"][0];
    EXPECT_TRUE(listed.contains("settings") && listed.contains("settingsError")) << listed;

    world.receivers.answer = nullptr;
    world.must(CreateNamespace{.name = "default", .settings = Json::parse(kSettings)});
    world.run_for(seconds(20));
    ASSERT_THAT(world.functions.tasks(), SizeIs(2)) << text;
    EXPECT_EQ(world.functions.tasks()[0].target, TaskTarget(HttpService{"http://charge"}));
    EXPECT_THAT(world.receivers.seen, SizeIs(asked + 1)) << text;
    EXPECT_THAT(world.dead_letters(), IsEmpty());
  }
}

TEST(SettingsWarnings, ReportValidSettingsThatAreProbablyMistakes) {
  World world;
  const Json settings = Json::parse(R"json({
    "services": {
      "mail": {"queue": "millrace.tasks.default.mail", "maxRuntime": "30", "maxInactivity": 500,
               "retries": {"maxAttempts": 3, "delay": "5"}},
      "pay": {"url": "http://pay", "deadline": {"timeout": "60", "errorOnTimeout": true}},
      "ship": {"url": "http://ship", "maxRuntime": "30s"},
      "bill": {"url": "http://bill", "retry": "fixed(3, 5)"},
      "send": {"url": "http://send",
               "retries": {"max_attempts": 3, "codes": ["direktiv.statetimeout", "late"]}},
      "sort": {"url": "http://sort", "scheduleToCloseTimeout": "1m",
               "retries": {"maximumAttempts": 3, "nonRetryableErrorTypes": ["millrace.posion"]}}},
    "webhooks": [
      {"url": "http://a", "types": ["millrace.instance.complete", "millrace.step.*", "order.paid"],
       "retries": {"vocabulary": "steep", "maxAttempts": 3, "delay": "5"}},
      {"url": "http://b", "retries": "fixed(3, 5)"}]})json");
  const Json answer = world.must(CreateNamespace{.name = "default", .settings = settings});
  std::string said;
  for (const Json& one : answer.at("warnings")) {
    said +=
        fmt::format("{}: {}\n", one["path"].get<std::string>(), one["message"].get<std::string>());
  }
  EXPECT_THAT(said,
              AllOf(HasSubstr("services.mail.maxRuntime: 30 without a unit is milliseconds; write "
                              "30ms, or 30s for seconds\n"),
                    HasSubstr("services.mail.retries.delay: 5 without a unit is milliseconds"),
                    HasSubstr("services.pay.deadline.timeout: 60 without a unit is milliseconds"),
                    HasSubstr("services.bill.retry: 5 without a unit is milliseconds; write "
                              "fixed(3, 5ms), or fixed(3, 5s) for seconds\n"),
                    HasSubstr("services.send.retries.codes[0]: millrace does not raise an error "
                              "that \"direktiv.statetimeout\" matches; did you mean "
                              "\"direktiv.stateTimeout\"? If not, remove this entry\n"),
                    HasSubstr("services.sort.retries.nonRetryableErrorTypes[0]: millrace does not "
                              "raise an error with the code \"millrace.posion\"; did you mean "
                              "\"millrace.poison\"? If not, remove this entry\n"),
                    HasSubstr("webhooks[0].retries.delay: 5 without a unit"),
                    HasSubstr("webhooks[1].retries: 5 without a unit"),
                    HasSubstr("webhooks[0].types[0]: no event has the type "
                              "\"millrace.instance.complete\", so the webhook sends none for it; "
                              "did you mean \"millrace.instance.completed\"?\n"),
                    HasSubstr("webhooks[0].types[2]: no event has the type \"order.paid\", so the "
                              "webhook sends none for it; write one of "
                              "millrace.instance.started, ")));
  EXPECT_THAT(answer.at("warnings"), SizeIs(10)) << said;
  const Snapshot view = *Snapshot::take(world.environment());
  EXPECT_EQ(world.queries().namespaces(view).value()["items"][0]["settingsWarnings"],
            answer.at("warnings"));
}

TEST(SettingsWarnings, AreAbsentForSettingsWithoutMistakes) {
  World world;
  const Json answer = world.must(CreateNamespace{
      .name = "default",
      .settings = Json::parse(R"({"lifecycle": true, "services": {"a": {"maxRuntime": 30000}},
        "webhooks": [{"url": "http://a", "types": ["*", "millrace.retry.scheduled"]}]})")});
  EXPECT_FALSE(answer.contains("warnings")) << answer;
  const Snapshot view = *Snapshot::take(world.environment());
  EXPECT_FALSE(world.queries().namespaces(view).value()["items"][0].contains("settingsWarnings"));
}

}  // namespace
}  // namespace millrace
