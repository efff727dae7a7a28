// Quotas of a namespace through the whole engine: where the error of a refusal goes, and that a
// restart changes nothing. The store check at the end of each process runs as well.
#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kWaitsInQuota = R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)";

class QuotaWorld : public testing::Test {
 protected:
  void limit(const char* quotas) {
    world.must(
        CreateNamespace{.name = "default", .settings = Json{{"quotas", Json::parse(quotas)}}});
  }
  Error refused_start(const std::string& workflow = "waits") {
    return world.refusal(
        StartInstance{.ns = "default", .workflow = workflow, .input = Json::object()});
  }
  void publish(std::string type) {
    world.publish(std::move(type), std::to_string(++last_event));
    world.run_until_idle();
  }
  double refusals(std::string_view quota) {
    return world.metric(fmt::format("millrace_quota_refusals_total{{quota=\"{}\"}}", quota));
  }

  long rate_rows() {
    const auto rows = world.rows();
    return std::count_if(rows.begin(), rows.end(),
                         [](const auto& row) { return row.first.starts_with("meta/rate/"); });
  }

  World world;
  int last_event = 0;
};

TEST_F(QuotaWorld, RefusesACallWhileItHasItsMostLiveInstances) {
  limit(R"({"instances": 2})");
  world.apply(kWaitsInQuota);
  world.start("waits", Json::object(), "key");
  world.start("waits");
  const Error error = refused_start();
  EXPECT_EQ(error.code, "millrace.quota.instances");
  EXPECT_THAT(error.message, AllOf(HasSubstr("2 live instances"), HasSubstr("quotas.instances")));
  EXPECT_EQ(refusals("instances"), 1);
  EXPECT_EQ(world.metric("millrace_namespace_quota_refusals_total{namespace=\"default\","
                         "quota=\"instances\"}"),
            1);
  EXPECT_FALSE(world.start("waits", Json::object(), "key")["created"])
      << "a repeated request gets the instance that exists";
  world.restart();
  EXPECT_EQ(refused_start().code, "millrace.quota.instances");
  publish("go");
  world.start("waits");
}

TEST_F(QuotaWorld, CountsTheInstancesThatOneBatchStarts) {
  limit(R"({"instances": 3})");
  world.apply(kWaitsInQuota);
  std::vector<Answered> answers;
  for (int i = 0; i < 10; ++i) {
    answers.push_back(world.command(
        StartInstance{.ns = "default", .workflow = "waits", .input = Json::object()}));
  }
  world.run_until_idle();
  const auto started = std::count_if(answers.begin(), answers.end(),
                                     [](const Answered& one) { return (*one)->has_value(); });
  EXPECT_EQ(started, 3);
  EXPECT_THAT(world.instances(), SizeIs(3));
}

TEST_F(QuotaWorld, LimitsTheNamespaceThatSetsIt) {
  limit(R"({"instances": 1})");
  world.must(CreateNamespace{.name = "other"});
  world.apply(kWaitsInQuota);
  world.apply(kWaitsInQuota, "other");
  world.start("waits");
  EXPECT_EQ(refused_start().code, "millrace.quota.instances");
  for (int i = 0; i < 3; ++i) {
    world.must(StartInstance{.ns = "other", .workflow = "waits", .input = Json::object()});
  }
}

TEST_F(QuotaWorld, MakesAnEventThatCannotStartAnInstanceADeadLetterThatCanBeSentAgain) {
  limit(R"({"instances": 1})");
  for (const char* const id : {"first", "second"}) {
    world.apply(fmt::format(R"(
id: {}
start: {{type: event, event: {{type: begin}}}}
states:
- {{id: wait, type: consumeEvent, event: {{type: go}}}}
)",
                            id));
  }
  publish("begin");
  EXPECT_THAT(world.instances(), SizeIs(1));
  EXPECT_THAT(world.dead_letters(), ElementsAre("millrace.quota.instances"))
      << "the start of the other workflow was refused";
  world.publish("begin", "again");
  world.run_until_idle();
  EXPECT_THAT(world.dead_letters(), SizeIs(2)) << "one dead letter for both starts";
  EXPECT_EQ(refusals("instances"), 3);
  publish("go");
  // After this time the broker stores the same event again.
  world.clock.advance(std::chrono::minutes(3));
  world.publish("begin", "again");
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(2)) << "the refused event is not a duplicate";
}

TEST_F(QuotaWorld, MakesTheEventsOfAGroupDeadLettersIfTheGroupCannotStartAnInstance) {
  limit(R"({"instances": 1})");
  world.apply(kWaitsInQuota);
  world.apply(R"(
id: pair
start: {type: eventsAnd, events: [{type: a}, {type: b}]}
states:
- {id: done, type: noop}
)");
  world.start("waits");
  publish("a");
  publish("b");
  EXPECT_THAT(world.dead_letters(),
              ElementsAre("millrace.quota.instances", "millrace.quota.instances"));
  EXPECT_THAT(world.instances(), SizeIs(1));
  EXPECT_EQ(world.rows_of("groups"), 0U);
}

TEST_F(QuotaWorld, GivesTheCallerOfASubflowTheError) {
  limit(R"({"instances": 2})");
  world.apply(kWaitsInQuota);
  world.apply(R"(
id: parent
functions: [{id: child, type: subflow, workflow: waits}]
states:
- id: call
  type: foreach
  array: jq([1, 2])
  action: {function: child}
  catch: [{error: millrace.quota.instances, transition: caught}]
- {id: caught, type: noop}
)");
  const std::string id = world.start("parent")["id"];
  EXPECT_EQ(world.status(id), "complete");
  EXPECT_EQ(world.instance(id)["output"]["error"]["code"], "millrace.quota.instances");
}

TEST_F(QuotaWorld, RefusesGeneratedEventsBeyondTheEventsPerSecond) {
  limit(R"({"eventsPerSecond": 2})");
  world.apply(R"(
id: storm
states:
- id: boom
  type: generateEvent
  event: {type: boom, source: s}
  transition: boom
  catch: [{error: millrace.quota.eventsPerSecond, transition: caught}]
- {id: caught, type: noop}
)");
  const auto generated = [&] {
    const std::string id = world.start("storm")["id"];
    EXPECT_EQ(world.status(id), "complete");
    EXPECT_EQ(world.instance(id)["output"]["error"]["code"], "millrace.quota.eventsPerSecond");
    const Json records = world.history_items(id);
    return std::count_if(records.begin(), records.end(),
                         [](const Json& one) { return one["kind"] == "published"; });
  };
  EXPECT_EQ(generated(), 4) << "those of two seconds at once";
  EXPECT_EQ(generated(), 0) << "another instance of the namespace";
  EXPECT_EQ(refusals("eventsPerSecond"), 2);
  world.run_for(seconds(1));
  EXPECT_EQ(generated(), 2);
}

TEST_F(QuotaWorld, UsesUpATickThatCannotStartAnInstance) {
  limit(R"({"instances": 1})");
  world.apply(kWaitsInQuota);
  world.apply(R"(
id: hourly
start: {type: scheduled, cron: '0 * * * *'}
states:
- {id: done, type: noop}
)");
  world.start("waits");
  world.run_for(hours(3));
  EXPECT_THAT(world.instances(), SizeIs(1));
  EXPECT_GE(refusals("instances"), 3);
  publish("go");
  world.run_for(hours(1));
  EXPECT_THAT(world.instances(), SizeIs(2)) << "only the tick after the end starts an instance";
}

TEST_F(QuotaWorld, RefusesANewRunOfAnEndedInstance) {
  limit(R"({"instances": 1})");
  world.apply(kWaitsInQuota);
  const std::string id = world.start("waits")["id"];
  world.must(CancelInstance{"default", *parse_instance_id(id)});
  world.start("waits");
  const RestartInstance restart{"default", *parse_instance_id(id)};
  EXPECT_EQ(world.refusal(restart).code, "millrace.quota.instances");
  EXPECT_EQ(world.status(id), "cancelled");
}

TEST_F(QuotaWorld, RefusesStartsWhileItsInstancesHaveTooManyBytes) {
  limit(R"({"storeBytes": "64KiB"})");
  world.apply(kWaitsInQuota);
  const std::string large(36'000, 'x');
  std::vector<std::string> ids;
  for (int i = 0; i < 2; ++i) ids.push_back(world.start("waits", {{"large", large}})["id"]);
  EXPECT_EQ(refused_start().code, "millrace.quota.storeBytes");
  world.restart();
  EXPECT_EQ(refused_start().code, "millrace.quota.storeBytes");
  publish("go");
  for (const std::string& id : ids) {
    EXPECT_EQ(world.status(id), "complete") << "live instances continue";
    world.must(DeleteInstance{.ns = "default", .instance = *parse_instance_id(id)});
  }
  world.start("waits");
}

/// Calls the service `charge` for each order; `rest` has further keys of its state, in one line.
std::string charges(const std::string& rest) {
  return fmt::format(R"(
id: charges
functions: [{{id: charge, type: knative-namespace, service: charge}}]
states:
- id: pay
  type: foreach
  array: jq(.orders)
  action: {{function: charge}}
  {}
- {{id: caught, type: noop}}
)",
                     rest);
}

constexpr const char* kCatchesQuota = "catch: [{error: millrace.quota.calls, transition: caught}]";

TEST_F(QuotaWorld, FailsTheAttemptOfACallWhileItHasItsMostCalls) {
  limit(R"({"calls": 2})");
  world.apply(charges(kCatchesQuota));
  const std::string first = world.start("charges", {{"orders", {1, 2}}})["id"];
  EXPECT_EQ(world.status(first), "waiting");
  world.restart();
  const std::string second = world.start("charges", {{"orders", {1, 2}}})["id"];
  EXPECT_EQ(world.status(second), "complete");
  EXPECT_EQ(world.instance(second)["output"]["error"]["code"], "millrace.quota.calls");
  EXPECT_THAT(world.functions.tasks(),
              Each(testing::Field(&Task::instance, *parse_instance_id(first))));
  EXPECT_EQ(refusals("calls"), 2);
  EXPECT_EQ(world.rows_of("tasks"), 2U);
}

TEST_F(QuotaWorld, TriesARefusedCallAgainByItsRetryPolicy) {
  limit(R"({"calls": 1})");
  world.apply(charges("retries: {max_attempts: 5, delay: PT10S, codes: [quota]}"));
  const std::string id = world.start("charges", {{"orders", {1, 2}}})["id"];
  ASSERT_THAT(world.functions.tasks(), SizeIs(1));
  world.functions.answer(world.functions.tasks()[0].id, {{"paid", true}});
  world.run_for(std::chrono::seconds(11));
  ASSERT_THAT(world.functions.tasks(), SizeIs(2)) << "the first call has ended";
  world.functions.answer(world.functions.tasks()[1].id, {{"paid", true}});
  world.run_until_idle();
  EXPECT_EQ(world.instance(id)["output"]["return"].size(), 2U);
}

TEST_F(QuotaWorld, RefusesMoreCallsThanOneBatchAnswers) {
  limit(R"({"calls": 10})");
  world.apply(charges(kCatchesQuota));
  Json orders = Json::array();
  for (int i = 0; i < 1'000; ++i) orders.push_back(i);
  const std::string id = world.start("charges", {{"orders", orders}})["id"];
  EXPECT_EQ(world.status(id), "complete");
  EXPECT_EQ(world.rows_of("tasks"), 0U) << "the calls that began were stopped";
  EXPECT_EQ(world.rows_of("inbox"), 0U);
}

/// Waits for `go` again and again; `catches` is the entry of `catch`, or empty.
std::string rounds(const std::string& catches) {
  return fmt::format(R"(
id: rounds
retries: {{maximumAttempts: 3}}
states:
- {{id: wait, type: consumeEvent, event: {{type: go}}, catch: [{}], transition: wait}}
- {{id: tidy, type: noop, transition: note}}
- {{id: note, type: noop, transition: rest}}
- {{id: rest, type: consumeEvent, event: {{type: end}}, transition: done}}
- {{id: done, type: noop}}
)",
                     catches);
}

TEST_F(QuotaWorld, RaisesAnErrorThatCatchSeesIfTheHistoryOfAnInstanceIsTooLong) {
  limit(R"({"historyBytes": "1MiB"})");
  world.apply(rounds("{error: millrace.quota.historyBytes, transition: tidy}"));
  const std::string id = world.start("rounds", {{"large", std::string(100'000, 'x')}})["id"];
  for (int i = 0; i < 8; ++i) publish("go");
  EXPECT_EQ(world.instance(id)["state"], "wait");
  world.restart();
  for (int i = 0; i < 5; ++i) publish("go");
  EXPECT_EQ(world.instance(id)["state"], "rest") << "several states follow the error";
  EXPECT_EQ(refusals("historyBytes"), 1);
  world.restart();
  publish("end");
  EXPECT_EQ(world.status(id), "complete");
  EXPECT_EQ(world.instance(id)["output"]["error"]["code"], "millrace.quota.historyBytes");
}

TEST_F(QuotaWorld, FailsAnInstanceThatDoesNotCatchTheErrorOfItsHistoryWithoutAnotherRun) {
  limit(R"({"historyBytes": "1MiB"})");
  world.apply(rounds(""));
  const std::string id = world.start("rounds", {{"large", std::string(100'000, 'x')}})["id"];
  for (int i = 0; i < 15; ++i) publish("go");
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.quota.historyBytes");
  EXPECT_EQ(world.instance(id).value("run", 1), 1);
}

TEST_F(QuotaWorld, EndsAnInstanceThatGoesOnFarBeyondTheQuotaOfItsHistory) {
  limit(R"({"historyBytes": "1MiB"})");
  world.apply(rounds("{error: millrace.quota.historyBytes, transition: wait}"));
  const std::string id = world.start("rounds", {{"large", std::string(100'000, 'x')}})["id"];
  for (int i = 0; i < 20; ++i) publish("go");
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.quota.historyBytes");
  EXPECT_THAT(world.instance(id)["error"]["msg"].get<std::string>(),
              EndsWith("at least an eighth more than the quota, so no `catch` applies"));
}

TEST_F(QuotaWorld, EndsAnInstanceWhoseHistoryGrowsWithinOneState) {
  limit(R"({"historyBytes": "1MiB"})");
  world.apply(charges("catch: [{error: '*', transition: caught}]"));
  const std::string id = world.start("charges", {{"orders", {1}}})["id"];
  const InstanceId task = world.functions.tasks().at(0).id;
  for (int i = 0; i < 15; ++i) {
    world.functions.report({task, TaskOutput{.text = std::string(100'000, 'x')}});
    world.run_until_idle();
  }
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.quota.historyBytes");
  EXPECT_THAT(world.functions.stopped(), ElementsAre(task));
}

TEST_F(QuotaWorld, LetsAnInstanceFarBeyondTheQuotaOfItsHistoryMakeItsCompensations) {
  limit(R"({"historyBytes": "1MiB"})");
  world.apply(R"(
id: order
compensate: true
functions:
- {id: charge, type: knative-namespace, service: charge}
- {id: refund, type: knative-namespace, service: refund}
states:
- id: pay
  type: action
  action: {function: charge}
  compensate: {function: refund, input: 7}
  transition: ship
- {id: ship, type: action, action: {function: charge}}
)");
  const std::string id = world.start("order")["id"];
  world.functions.answer(world.functions.tasks().at(0).id, Json());
  world.run_until_idle();
  const InstanceId task = world.functions.tasks().at(1).id;
  for (int i = 0; i < 26; ++i) {
    world.functions.report({task, TaskOutput{.text = std::string(50'000, 'x')}});
    world.run_until_idle();
  }
  EXPECT_EQ(world.status(id), "running");
  ASSERT_THAT(world.functions.tasks(), SizeIs(3));
  EXPECT_EQ(world.functions.tasks().back().function, "refund");
  world.functions.answer(world.functions.tasks().back().id, Json());
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.quota.historyBytes");
  EXPECT_FALSE(world.instance(id).contains("compensation"));
}

constexpr const char* kStartsByEvent = R"(
id: starts
start: {type: event, event: {type: begin}}
states:
- {id: done, type: noop}
)";

TEST_F(QuotaWorld, MakesEventsBeyondTheRateDeadLetters) {
  limit(R"({"eventsPerSecond": 3})");
  world.apply(kStartsByEvent);
  for (int i = 0; i < 8; ++i) publish("begin");
  EXPECT_THAT(world.instances(), SizeIs(6)) << "as many as in two seconds at once";
  EXPECT_THAT(world.dead_letters(),
              ElementsAre("millrace.quota.eventsPerSecond", "millrace.quota.eventsPerSecond"));
  EXPECT_EQ(refusals("eventsPerSecond"), 2);
  world.clock.advance(std::chrono::seconds(1));
  for (int i = 0; i < 4; ++i) publish("begin");
  EXPECT_THAT(world.instances(), SizeIs(9));
}

TEST_F(QuotaWorld, CountsTheSameEventsAfterARestart) {
  limit(R"({"eventsPerSecond": 3})");
  world.apply(kStartsByEvent);
  for (int i = 0; i < 4; ++i) publish("begin");
  world.restart();
  for (int i = 0; i < 4; ++i) publish("begin");
  EXPECT_THAT(world.instances(), SizeIs(6)) << "the restart gives no further burst";
}

TEST_F(QuotaWorld, CountsEventsWithTheTimeAtWhichTheyWereStored) {
  limit(R"({"eventsPerSecond": 3})");
  world.apply(kStartsByEvent);
  world.crash();
  for (int i = 0; i < 20; ++i) {
    world.publish("begin", std::to_string(++last_event));
    world.clock.advance(std::chrono::milliseconds(400));
  }
  world.recover();
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(20)) << "they waited in the stream";
  EXPECT_THAT(world.dead_letters(), IsEmpty());
}

TEST_F(QuotaWorld, DoesNotCountEventsThatConcernNoWorkflow) {
  limit(R"({"eventsPerSecond": 3})");
  world.apply(kStartsByEvent);
  for (int i = 0; i < 50; ++i) publish("other");
  for (int i = 0; i < 6; ++i) publish("begin");
  EXPECT_THAT(world.instances(), SizeIs(6));
  EXPECT_THAT(world.dead_letters(), IsEmpty());
}

TEST_F(QuotaWorld, ForgetsTheRateOfADeletedNamespace) {
  world.must(
      CreateNamespace{.name = "shop", .settings = Json{{"quotas", {{"eventsPerSecond", 1}}}}});
  world.apply(kStartsByEvent, "shop");
  world.publish({.id = "1", .source = "/s", .type = "begin"}, "shop");
  world.run_until_idle();
  EXPECT_EQ(rate_rows(), 1);
  world.must(DeleteNamespace{.name = "shop", .cancel = true});
  EXPECT_EQ(rate_rows(), 0);
}

TEST_F(QuotaWorld, RefusesAFurtherWorkflowButNoRevision) {
  limit(R"({"workflows": 1})");
  world.apply(kWaitsInQuota);
  world.apply(std::string(kWaitsInQuota) + "\n");
  std::string other = kWaitsInQuota;
  other.replace(other.find("waits"), 5, "other");
  EXPECT_EQ(world.refusal(World::application(other)).code, "millrace.quota.workflows");
  EXPECT_EQ(refusals("workflows"), 1);
  limit(R"({"workflows": "unlimited"})");
  world.apply(other);
}

}  // namespace
}  // namespace millrace
