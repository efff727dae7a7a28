// Lifecycle events and webhooks.
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/nats_binding.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/transaction.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kLifecycleOrder = R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
start: {type: event, event: {type: ordered}}
states:
- id: pay
  type: action
  action: {function: charge, startToCloseTimeout: 1m, retries: {maximumAttempts: 2, initialInterval: 1s}}
)";

void set(World& world, const char* settings) {
  world.must(CreateNamespace{.name = "default", .settings = Json::parse(settings)});
}

/// The lifecycle events that the broker stores, each with the subject of its message.
std::vector<std::pair<std::string, Event>> stored_lifecycle_events(World& world) {
  std::vector<std::pair<std::string, Event>> found;
  for (const MemoryBroker::Stored& stored : world.broker.others()) {
    if (!stored.message.subject.starts_with("millrace.lifecycle.")) continue;
    found.emplace_back(stored.message.subject, *decode_nats(stored.message));
  }
  return found;
}

std::vector<std::string> subjects(World& world) {
  std::vector<std::string> found;
  for (const auto& [subject, event] : stored_lifecycle_events(world)) {
    found.push_back(subject.substr(std::string("millrace.lifecycle.default.order.").size()));
  }
  return found;
}

void fail_once_and_succeed(World& world) {
  world.publish(
      "ordered", "1", nullptr,
      {{"traceparent", std::string("00-abc-def-01")}, {"correlationid", std::string("c7")}});
  world.run_until_idle();
  world.functions.report(
      {world.functions.tasks()[0].id, TaskEnded{.result = tl::unexpected(Error{"down", "gone"})}});
  world.run_for(seconds(1));
  world.functions.answer(world.functions.tasks()[1].id, 1);
  world.run_until_idle();
}

TEST(LifecycleEvents, AreNotPublishedByDefault) {
  World world;
  world.apply(kLifecycleOrder);
  fail_once_and_succeed(world);
  EXPECT_THAT(stored_lifecycle_events(world), IsEmpty());
  EXPECT_THAT(world.receivers.seen, IsEmpty());
}

TEST(LifecycleEvents, AreCloudEventsWithANatsSubjectForEachKindOfRecord) {
  World world;
  set(world, R"({"lifecycle": true})");
  world.apply(kLifecycleOrder);
  fail_once_and_succeed(world);
  EXPECT_THAT(subjects(world),
              ElementsAre("started", "step-failed", "retry-scheduled", "completed"));
  const std::string id = world.instances()[0]["id"];
  for (const auto& [subject, event] : stored_lifecycle_events(world)) {
    EXPECT_EQ(event.source, "/millrace/default/order");
    EXPECT_EQ(event.subject, id);
    EXPECT_EQ(std::get<std::string>(event.extensions.at("traceparent")), "00-abc-def-01");
    EXPECT_EQ(std::get<std::string>(event.extensions.at("correlationid")), "c7");
  }
  const Event first = stored_lifecycle_events(world)[0].second;
  EXPECT_EQ(std::get<std::string>(first.extensions.at("causationid")), "1");
  EXPECT_FALSE(stored_lifecycle_events(world)[3].second.extensions.contains("causationid"));
  const Json failed = Json::parse(*stored_lifecycle_events(world)[1].second.data);
  EXPECT_EQ(failed["state"], "pay");
  EXPECT_EQ(failed["detail"]["code"], "down");
}

TEST(LifecycleEvents, ReportAStateTimeoutAsTimedOutAndAsFailed) {
  World world;
  set(world, R"({"lifecycle": true})");
  world.apply(R"(
id: order
states:
- {id: wait, type: consumeEvent, event: {type: paid}, timeout: PT1M}
)");
  const std::string id = world.start("order")["id"];
  world.run_for(seconds(60));
  EXPECT_THAT(subjects(world), ElementsAre("started", "step-timedout", "step-failed", "failed"));
  const auto events = stored_lifecycle_events(world);
  EXPECT_EQ(events[1].second.type, "millrace.step.timedout");
  EXPECT_EQ(events[1].second.id, events[2].second.id + "-timedout");
  EXPECT_EQ(Json::parse(*events[1].second.data)["detail"]["code"], "direktiv.stateTimeout");
}

TEST(LifecycleEvents, DoNotReportATimeoutOfASubflowAsATimeoutOfItsCaller) {
  World world;
  set(world, R"({"lifecycle": true})");
  world.apply(R"(
id: child
states:
- {id: wait, type: consumeEvent, event: {type: paid}, timeout: PT1M}
)");
  world.apply(R"(
id: order
functions:
- {id: child, type: subflow, workflow: child}
states:
- {id: call, type: action, action: {function: child}}
)");
  world.start("order");
  world.run_for(seconds(60));
  std::vector<std::string> of_caller;
  for (const auto& [subject, event] : stored_lifecycle_events(world)) {
    if (event.source == "/millrace/default/order") of_caller.push_back(event.type);
  }
  EXPECT_THAT(of_caller, ElementsAre("millrace.instance.started", "millrace.step.failed",
                                     "millrace.instance.failed"));
}

TEST(LifecycleEvents, ReportTheStartAndTheEndOfAnInstanceOfASchedule) {
  World world;
  set(world, R"({"lifecycle": true})");
  world.apply(R"(
id: order
start: {type: scheduled, cron: '@hourly'}
states:
- {id: a, type: noop}
)");
  world.run_for(std::chrono::hours(1));
  EXPECT_THAT(subjects(world), ElementsAre("started", "completed"));
}

TEST(LifecycleEvents, ArePublishedOnceOverACrash) {
  World world;
  set(world, R"({"lifecycle": true})");
  world.apply(kLifecycleOrder);
  world.publish("ordered", "1");
  world.run_until_idle();
  world.restart();
  world.run_until_idle();
  EXPECT_THAT(subjects(world), ElementsAre("started"));
}

TEST(LifecycleEvents, ReportTheCommandsOfAnOperator) {
  World world;
  set(world, R"({"lifecycle": true})");
  world.apply(kLifecycleOrder);
  world.publish("ordered", "1");
  world.run_until_idle();
  const InstanceId id = *parse_instance_id(world.instances()[0]["id"].get<std::string>());
  world.must(PauseInstance{"default", id});
  world.must(ResumeInstance{"default", id});
  world.must(CancelInstance{"default", id, true});
  world.must(RestartInstance{"default", id});
  EXPECT_THAT(subjects(world), ElementsAre("started", "paused", "resumed", "cancelled", "revived"));
}

TEST(Webhooks, GetEventsOfTheTypesThatTheyAskForWithTheirToken) {
  World world;
  world.must(PutSecret{.ns = "default", .name = "hook", .value = "t0ken"});
  set(world, R"({"webhooks": [{"url": "http://a", "types": ["millrace.instance.*"],
                               "secret": "hook"}, {"url": "http://b"}]})");
  world.apply(kLifecycleOrder);
  fail_once_and_succeed(world);
  EXPECT_THAT(
      world.receivers.seen,
      testing::UnorderedElementsAre(
          "http://a millrace.instance.started t0ken", "http://b millrace.instance.started ",
          "http://b millrace.step.failed ", "http://b millrace.retry.scheduled ",
          "http://a millrace.instance.completed t0ken", "http://b millrace.instance.completed "));
  EXPECT_THAT(stored_lifecycle_events(world), IsEmpty());
}

TEST(Webhooks, AreRefusedWhenTheirSecretDoesNotExist) {
  World world;
  const Json settings =
      Json::parse(R"({"webhooks": [{"url": "http://b"}, {"url": "http://a", "secret": "hook"}]})");
  const auto error = [&](const char* ns) {
    const Answered answer = world.command(CreateNamespace{.name = ns, .settings = settings});
    world.run_until_idle();
    return (*answer)->has_value() ? Error{} : (*answer)->error();
  };
  for (const char* ns : {"default", "shop"}) {
    EXPECT_EQ(error(ns).code, "settings.invalid") << ns;
    EXPECT_THAT(error(ns).message, testing::StartsWith("webhooks[1].secret: ")) << ns;
  }
  world.must(PutSecret{.ns = "default", .name = "hook", .value = "t0ken"});
  EXPECT_EQ(error("default").code, "");
  // The refused command has created no namespace.
  EXPECT_EQ(error("shop").code, "settings.invalid");
  EXPECT_EQ(world.must(CreateNamespace{.name = "shop"})["created"], true);
  EXPECT_EQ(error("shop").code, "settings.invalid") << "a secret belongs to one namespace";
}

TEST(Webhooks, PreventTheDeletionOfTheirSecret) {
  World world;
  world.must(PutSecret{.ns = "default", .name = "hook", .value = "t0ken"});
  set(world, R"({"webhooks": [{"url": "http://a", "secret": "hook"}]})");
  const Answered refused = world.command(DeleteSecret{"default", "hook"});
  world.run_until_idle();
  ASSERT_FALSE(refused->value());
  EXPECT_EQ((**refused).error().code, "secret.in_use");
  EXPECT_THAT((**refused).error().message, testing::StartsWith("the webhook to http://a "));
  set(world, R"({"webhooks": []})");
  EXPECT_EQ(world.must(DeleteSecret{"default", "hook"})["deleted"], true);
}

TEST(Webhooks, SendNothingWithoutTheirSecret) {
  World world;
  world.must(PutSecret{.ns = "default", .name = "hook", .value = "t0ken"});
  set(world, R"({"webhooks": [{"url": "http://a", "secret": "hook",
      "types": ["millrace.instance.started"],
      "retries": {"vocabulary": "steep", "maxAttempts": 2, "delay": "10s"}}]})");
  const auto folder = world.environment().folder();
  world.crash();
  {
    const auto environment = *Environment::open(folder);
    Transaction tx(*environment);
    erase_secret(tx, NamespaceNumber(1), "hook");
    request_count_of_rows(tx);  // a batch would have counted the row
    ASSERT_TRUE(tx.commit());
  }
  world.recover();
  world.apply(kLifecycleOrder);
  world.publish("ordered", "1");
  world.run_until_idle();
  EXPECT_THAT(world.receivers.seen, IsEmpty());
  world.must(PutSecret{.ns = "default", .name = "hook", .value = "t0ken"});
  world.run_for(seconds(10));
  EXPECT_THAT(world.receivers.seen, ElementsAre("http://a millrace.instance.started t0ken"));
}

TEST(Webhooks, RetryAFailedDeliveryByTheirPolicyAndThenWriteADeadLetter) {
  World world;
  set(world, R"({"webhooks": [{"url": "http://a", "types": ["millrace.instance.started"],
      "retries": {"vocabulary": "steep", "maxAttempts": 3, "delay": "10s"}}]})");
  world.receivers.answer = [](const Event&) {
    return WebhookFailure{.error = {"webhook.status", "500"}};
  };
  world.apply(kLifecycleOrder);
  world.publish("ordered", "1");
  world.run_until_idle();
  EXPECT_THAT(world.receivers.seen, SizeIs(1));
  world.restart();
  world.run_for(seconds(9));
  EXPECT_THAT(world.receivers.seen, SizeIs(1));
  world.run_for(seconds(1));
  EXPECT_THAT(world.receivers.seen, SizeIs(2));
  EXPECT_THAT(world.dead_letters(), IsEmpty());
  world.run_for(seconds(60));
  EXPECT_THAT(world.receivers.seen, SizeIs(3));
  EXPECT_THAT(world.dead_letters(), ElementsAre("webhook.status"));
  EXPECT_EQ(world.receivers.events[0].id, world.receivers.events[2].id);
}

TEST(Webhooks, SpreadTheRetriesOfDeliveriesThatFailTogether) {
  World world;
  set(world, R"({"webhooks": [{"url": "http://a", "types": ["millrace.instance.started"],
      "retries": {"vocabulary": "stevora", "maxAttempts": 2, "backoffMs": 100000}}]})");
  std::vector<TimePoint> asked;
  world.receivers.answer = [&](const Event&) {
    asked.push_back(world.clock.now());
    return WebhookFailure{.error = {"webhook.status", "500"}};
  };
  world.apply(kLifecycleOrder);
  for (int i = 0; i < 8; ++i) world.publish("ordered", std::to_string(i));
  world.run_until_idle();
  const TimePoint first = world.clock.now();
  world.run_for(seconds(100));
  ASSERT_THAT(asked, SizeIs(16));
  const std::set<TimePoint> again(asked.begin() + 8, asked.end());
  EXPECT_GT(again.size(), 4u);
  EXPECT_GE(*again.begin(), first + seconds(75));
  EXPECT_LE(*again.rbegin(), first + seconds(100));
}

TEST(Webhooks, MakeTwentyAttemptsWithinAboutADayByDefault) {
  World world;
  set(world, R"({"webhooks": [{"url": "http://a", "types": ["millrace.instance.started"]}]})");
  // When each event was sent, by the event's id.
  std::map<std::string, std::vector<TimePoint>> asked;
  world.receivers.answer = [&](const Event& event) {
    asked[event.id].push_back(world.clock.now());
    return WebhookFailure{.error = {"webhook.status", "500"}};
  };
  world.apply(kLifecycleOrder);
  for (int i = 0; i < 8; ++i) world.publish("ordered", std::to_string(i));
  world.run_for(hours(72));
  EXPECT_THAT(world.dead_letters(), SizeIs(8));
  ASSERT_THAT(asked, SizeIs(8));
  std::set<Duration> firsts;
  std::set<Duration> lasts;
  for (const auto& [id, times] : asked) {
    ASSERT_THAT(times, SizeIs(20));
    EXPECT_GT(times.back() - times.front(), hours(16));
    EXPECT_LT(times.back() - times.front(), hours(28));
    firsts.insert(times[1] - times[0]);
    lasts.insert(times[19] - times[18]);
  }
  // The first wait is one second and the last wait is two hours; the jitter shortens each wait by
  // at most a quarter.
  EXPECT_GT(firsts.size(), 4U);
  EXPECT_GE(*firsts.begin(), milliseconds(750));
  EXPECT_LE(*firsts.rbegin(), seconds(1));
  EXPECT_GT(lasts.size(), 4U);
  EXPECT_GE(*lasts.begin(), minutes(90));
  EXPECT_LE(*lasts.rbegin(), hours(2));
}

TEST(Webhooks, MakeNoOtherAttemptAfterAFinalAnswer) {
  World world;
  set(world, R"({"webhooks": [{"url": "http://a", "types": ["millrace.instance.started"]}]})");
  world.receivers.answer = [](const Event&) {
    return WebhookFailure{.error = {"webhook.gone", "410"}, .is_final = true};
  };
  world.apply(kLifecycleOrder);
  world.publish("ordered", "1");
  world.run_for(seconds(1000));
  EXPECT_THAT(world.receivers.seen, SizeIs(1));
  EXPECT_THAT(world.dead_letters(), ElementsAre("webhook.gone"));
}

TEST(Webhooks, WaitAsLongAsTheReceiverAsks) {
  World world;
  set(world, R"({"webhooks": [{"url": "http://a", "types": ["millrace.instance.started"]}]})");
  int asked = 0;
  world.receivers.answer = [&](const Event&) -> std::optional<WebhookFailure> {
    if (++asked > 1) return std::nullopt;
    return WebhookFailure{.error = {"webhook.busy", "429"}, .retry_after = seconds(100)};
  };
  world.apply(kLifecycleOrder);
  world.publish("ordered", "1");
  world.run_for(seconds(99));
  EXPECT_EQ(asked, 1);
  world.run_for(seconds(2));
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace millrace
