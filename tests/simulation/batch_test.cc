// The `batch` of a workflow through the whole engine: each kind of start, restarts, and rows.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/service/missing_instance.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

std::string batching(const std::string& batch, const std::string& start = "{type: default}",
                     const std::string& more = "name: x") {
  return fmt::format("id: one\n{}\nbatch: {}\nstart: {}\nstates:\n- {{id: end, type: noop}}\n",
                     more, batch, start);
}

constexpr const char* kThreeInAMinute = "{maxSize: 3, timeout: PT1M, key: jq(.customer)}";

class Batched : public testing::Test {
 protected:
  Json call(const Json& input) {
    return world.must(StartInstance{.ns = "default", .workflow = "one", .input = input});
  }
  static Json of(const std::string& customer, int number) {
    return {{"customer", customer}, {"n", number}};
  }
  /// The instances of the workflow `one`, by the time of their start, then by their input.
  std::vector<Json> started() {
    std::vector<Json> all;
    for (const Json& instance : world.instances()) {
      if (instance["workflow"] == "one") all.push_back(instance);
    }
    const auto order = [](const Json& one) {
      return std::pair(one["startedAt"].get<std::string>(), one["input"].dump());
    };
    std::sort(all.begin(), all.end(),
              [&](const Json& a, const Json& b) { return order(a) < order(b); });
    return all;
  }
  /// The numbers in the inputs of each batch, such as "1 2 3", the oldest instance first.
  std::vector<std::string> batches(const std::string& type = "") {
    std::vector<std::string> all;
    for (const Json& instance : started()) {
      std::string numbers;
      for (const Json& one : instance["input"]["events"]) {
        const Json& data = type.empty() ? one : one[type];
        numbers += fmt::format("{}{}", numbers.empty() ? "" : " ", data["n"].get<int>());
      }
      all.push_back(numbers);
    }
    return all;
  }
  size_t rows(std::string_view prefix) const {
    size_t count = 0;
    for (const auto& [key, value] : world.rows()) count += key.starts_with(prefix) ? 1 : 0;
    return count;
  }
  /// The command that cancels what has that id, as LocalService makes it.
  CancelInstance cancel_of(const Json& id) const {
    CancelInstance cancel{.ns = "default", .instance = *parse_instance_id(id.get<std::string>())};
    const auto view = Snapshot::take(world.environment());
    EXPECT_TRUE(view);
    if (view) cancel.pending = pending_start_of(*view, "default", cancel.instance).value();
    return cancel;
  }

  World world;
};

TEST_F(Batched, StartsWhenItIsFull) {
  world.apply(batching(kThreeInAMinute));
  const Json first = call(of("c-1", 1));
  EXPECT_EQ(first["created"], true);
  EXPECT_EQ(first["startsAt"], format_rfc3339(world.clock.now() + minutes(1)));
  world.run_for(seconds(20));
  const Json second = call(of("c-1", 2));
  EXPECT_EQ(second["id"], first["id"]) << "the instance that will start";
  EXPECT_EQ(second["created"], false);
  EXPECT_EQ(second["startsAt"], first["startsAt"]) << "the timeout counts from the first input";
  EXPECT_THAT(started(), IsEmpty());
  EXPECT_EQ(rows("meta/pending-input/"), 2U);
  const Json third = call(of("c-1", 3));
  EXPECT_EQ(third["id"], first["id"]);
  EXPECT_EQ(third["startsAt"], format_rfc3339(world.clock.now()));
  const std::vector<Json> all = started();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0]["id"], first["id"]);
  EXPECT_EQ(all[0]["status"], "complete");
  EXPECT_EQ(all[0]["input"],
            (Json{{"events", Json::array({of("c-1", 1), of("c-1", 2), of("c-1", 3)})}}));
  EXPECT_EQ(world.metric("millrace_starts_batched_total"), 3);
  EXPECT_EQ(rows("meta/pending-"), 0U);
  EXPECT_NE(call(of("c-1", 4))["id"], first["id"]);
}

TEST_F(Batched, StartsAtTheTimeoutOfItsFirstInput) {
  world.apply(batching("{maxSize: 100, timeout: PT1M}"));
  call({{"n", 1}});
  world.run_for(seconds(50));
  call({{"n", 2}});
  world.run_for(seconds(9));
  EXPECT_THAT(batches(), IsEmpty());
  world.run_for(seconds(1));
  EXPECT_THAT(batches(), ElementsAre("1 2"));
  call({{"n", 3}});
  world.run_for(seconds(59));
  EXPECT_THAT(batches(), ElementsAre("1 2"));
  world.run_for(seconds(1));
  EXPECT_THAT(batches(), ElementsAre("1 2", "3"));
  EXPECT_EQ(rows("meta/pending-"), 0U);
}

TEST_F(Batched, CollectsEachKeyAlone) {
  world.apply(batching(kThreeInAMinute));
  call(of("c-1", 1));
  call(of("c-2", 2));
  call(of("c-1", 3));
  EXPECT_EQ(rows("meta/pending-start/"), 2U);
  call(of("c-1", 4));
  EXPECT_THAT(batches(), ElementsAre("1 3 4"));
  world.run_for(minutes(1));
  EXPECT_THAT(batches(), ElementsAre("1 3 4", "2"));
}

TEST_F(Batched, OfOneInputStartsAtOnce) {
  world.apply(batching("{maxSize: 1, timeout: PT1M}"));
  call({{"n", 1}});
  call({{"n", 2}});
  EXPECT_THAT(batches(), UnorderedElementsAre("1", "2"));
}

TEST_F(Batched, StartsByEventsInTheirOrder) {
  world.apply(batching("{maxSize: 3, timeout: PT1M}", "{type: event, event: {type: begin}}"));
  for (int i = 1; i <= 5; ++i) {
    world.publish("begin", fmt::format("e-{}", i), {{"n", i}});
    world.run_until_idle();
  }
  world.publish("begin", "e-5", {{"n", 5}});  // a duplicate
  world.run_until_idle();
  EXPECT_THAT(batches("begin"), ElementsAre("1 2 3"));
  world.run_for(minutes(1));
  EXPECT_THAT(batches("begin"), ElementsAre("1 2 3", "4 5"));
  EXPECT_THAT(world.dead_letters(), IsEmpty());
}

TEST_F(Batched, StartsByGroups) {
  world.apply(batching("{maxSize: 2, timeout: PT1M}",
                       "{type: eventsAnd, correlate: [order], events: [{type: a}, {type: b}]}"));
  for (const char* const order : {"1", "2"}) {
    world.publish("a", fmt::format("a{}", order), Json(order), {{"order", std::string(order)}});
    world.publish("b", fmt::format("b{}", order), Json(order), {{"order", std::string(order)}});
    world.run_until_idle();
  }
  const std::vector<Json> all = started();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0]["input"]["events"],
            Json::array({Json{{"a", "1"}, {"b", "1"}}, Json{{"a", "2"}, {"b", "2"}}}));
  EXPECT_EQ(rows("groups/"), 0U);
}

TEST_F(Batched, CollectsTicks) {
  world.apply(batching("{maxSize: 3, timeout: P1D}", "{type: scheduled, cron: '@hourly'}"));
  world.run_for(hours(5));
  EXPECT_THAT(started(), SizeIs(1));
  world.run_for(hours(1));
  const std::vector<Json> all = started();
  ASSERT_THAT(all, SizeIs(2));
  for (const Json& one : all) {
    EXPECT_EQ(one["input"]["events"],
              Json::array({Json::object(), Json::object(), Json::object()}));
  }
}

TEST_F(Batched, MixesCallsAndTicks) {
  world.apply(batching("{maxSize: 2, timeout: P1D}", "{type: scheduled, cron: '@hourly'}"));
  const Json triggered = world.must(TriggerSchedule{.ns = "default", .workflow = "one"});
  EXPECT_TRUE(triggered.contains("startsAt"));
  call({{"n", 2}});
  const std::vector<Json> all = started();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0]["id"], triggered["id"]);
  EXPECT_EQ(all[0]["input"]["events"], Json::array({Json::object(), Json{{"n", 2}}}));
  EXPECT_EQ(world.history_items(all[0]["id"])[0]["detail"]["by"], "call") << "the newest request";
}

std::string caller_of_a_batch(const std::string& more) {
  return fmt::format(R"(
id: caller
functions: [{{id: one, type: subflow, workflow: one}}]
states:
- id: call
  type: action
  {}
  action: {{function: one, input: {{n: jq(.n)}}}}
)",
                     more);
}

TEST_F(Batched, AnswersTheCallersOfSubflowsAtOnce) {
  world.apply(batching("{maxSize: 2, timeout: PT1M}"));
  world.apply(caller_of_a_batch("async: false"));
  const std::string first = world.start("caller", {{"n", 1}})["id"];
  EXPECT_EQ(world.status(first), "complete");
  const Json returned = world.instance(first)["output"]["return"];
  EXPECT_EQ(returned["startsAt"], format_rfc3339(world.clock.now() + minutes(1)));
  EXPECT_THAT(started(), IsEmpty());
  world.restart();
  const std::string second = world.start("caller", {{"n", 2}})["id"];
  EXPECT_EQ(world.status(second), "complete");
  EXPECT_EQ(world.instance(second)["output"]["return"]["id"], returned["id"]);
  EXPECT_THAT(batches(), ElementsAre("1 2"));
  EXPECT_EQ(started()[0]["id"], returned["id"]);
  EXPECT_EQ(started()[0]["status"], "complete");
}

TEST_F(Batched, TakesTheInputsOfDetachedSubflows) {
  world.apply(batching("{maxSize: 2, timeout: PT1M}"));
  world.apply(caller_of_a_batch("async: true"));
  for (int n = 1; n <= 2; ++n) {
    const std::string caller = world.start("caller", {{"n", n}})["id"];
    EXPECT_EQ(world.status(caller), "complete");
  }
  EXPECT_THAT(batches(), ElementsAre("1 2"));
}

TEST_F(Batched, StartsAPausedInstanceOfAPausedWorkflow) {
  world.apply(batching("{maxSize: 2, timeout: PT1M}"));
  call({{"n", 1}});
  world.must(PauseWorkflow{.ns = "default", .id = "one"});
  call({{"n", 2}});
  call({{"n", 3}});
  world.run_for(minutes(2));
  for (const Json& one : started()) EXPECT_EQ(one["status"], "paused");
  EXPECT_THAT(batches(), ElementsAre("1 2", "3"));
  world.must(PauseWorkflow{.ns = "default", .id = "one", .paused = false});
  for (const Json& one : started()) EXPECT_EQ(one["status"], "complete");
}

TEST_F(Batched, LetsTheNextBatchCollectWhileAFullOneWaits) {
  world.apply(
      "id: one\nsingular: true\nbatch: {maxSize: 2, timeout: PT1M}\nstates:\n"
      "- {id: wait, type: consumeEvent, event: {type: go}}\n");
  for (int n = 1; n <= 5; ++n) call({{"n", n}});
  EXPECT_THAT(batches(), ElementsAre("1 2"));
  EXPECT_EQ(rows("meta/pending-start/"), 2U) << "a full one, and one that collects";
  world.run_for(seconds(30));
  EXPECT_THAT(batches(), ElementsAre("1 2"));
  world.restart();
  world.publish("go", "1");
  world.run_until_idle();
  world.run_for(seconds(10));
  EXPECT_THAT(batches(), ElementsAre("1 2", "3 4"));
  world.publish("go", "2");
  world.run_until_idle();
  world.run_for(seconds(30));
  EXPECT_THAT(batches(), ElementsAre("1 2", "3 4", "5"));
}

TEST_F(Batched, GoesOnCollectingIfItCannotStartAtItsTimeout) {
  world.apply(
      "id: one\nsingular: true\nbatch: {maxSize: 3, timeout: PT1M}\nstates:\n"
      "- {id: wait, type: consumeEvent, event: {type: go}}\n");
  call({{"n", 1}});
  world.run_for(minutes(1));
  EXPECT_THAT(batches(), ElementsAre("1"));
  call({{"n", 2}});
  world.run_for(minutes(2));
  call({{"n", 3}});
  world.publish("go", "1");
  world.run_until_idle();
  world.run_for(seconds(10));
  EXPECT_THAT(batches(), ElementsAre("1", "2 3"));
}

TEST_F(Batched, RunsOnTheNewestRevision) {
  world.apply(batching("{maxSize: 10, timeout: PT1M}"));
  call({{"n", 1}});
  world.apply(batching("{maxSize: 2, timeout: PT9M}"));
  call({{"n", 2}});
  EXPECT_THAT(batches(), ElementsAre("1 2")) << "the new maxSize counts";
  call({{"n", 3}});
  world.apply("id: one\nstates:\n- {id: end, type: noop}\n");
  world.run_for(minutes(9));
  EXPECT_THAT(batches(), ElementsAre("1 2", "3")) << "the workflow has no batch any more";
  EXPECT_EQ(started()[1]["revision"], 3);
}

TEST_F(Batched, IsNotMixedWithADebounceOfTheSameKey) {
  world.apply("id: one\ndebounce: {period: PT1M}\nstates:\n- {id: end, type: noop}\n");
  call({{"n", 1}});
  world.apply(batching("{maxSize: 2, timeout: PT1M}"));
  call({{"n", 2}});
  world.run_for(minutes(1));
  const std::vector<Json> all = started();
  ASSERT_THAT(all, SizeIs(2));
  std::vector<Json> inputs{all[0]["input"], all[1]["input"]};
  EXPECT_THAT(inputs, UnorderedElementsAre(Json{{"n", 1}},
                                           Json{{"events", Json::array({Json{{"n", 2}}})}}));
}

TEST_F(Batched, IsForgottenWithItsWorkflow) {
  world.apply(batching(kThreeInAMinute));
  call(of("c-1", 1));
  call(of("c-1", 2));
  EXPECT_EQ(world.must(DeleteWorkflow{.ns = "default", .id = "one", .cancel = true}),
            (Json{{"cancelled", 0}, {"pendingStarts", 1}}));
  world.run_for(minutes(1));
  EXPECT_THAT(world.instances(), IsEmpty());
  EXPECT_EQ(rows("meta/pending-"), 0U);
}

TEST_F(Batched, CountsEachRequestForTheRateLimit) {
  world.apply(batching("{maxSize: 10, timeout: PT1M}", "{type: default}",
                       "rateLimit: {limit: 2, period: PT10M, key: jq(.customer)}"));
  call(of("c-1", 1));
  call(of("c-1", 2));
  const StartInstance third{.ns = "default", .workflow = "one", .input = of("c-1", 3)};
  EXPECT_EQ(world.refusal(third).code, "millrace.rateLimit");
  call(of("c-2", 4));
  world.run_for(minutes(1));
  EXPECT_THAT(batches(), ElementsAre("1 2 4"));
  EXPECT_EQ(world.metric("millrace_starts_batched_total"), 3);
  EXPECT_EQ(world.metric("millrace_starts_limited_total"), 1);
}

TEST_F(Batched, IsTriedAgainAlthoughTheRateLimitIsUsedUp) {
  world.apply(
      "id: one\nsingular: true\nrateLimit: {limit: 2, period: PT10M}\n"
      "batch: {maxSize: 1, timeout: PT1M}\nstates:\n"
      "- {id: wait, type: consumeEvent, event: {type: go}}\n");
  call({{"n", 1}});
  call({{"n", 2}});
  EXPECT_THAT(batches(), ElementsAre("1"));
  world.publish("go", "1");
  world.run_until_idle();
  world.run_for(seconds(10));
  EXPECT_THAT(batches(), ElementsAre("1", "2")) << "the limit has counted its request already";
}

TEST_F(Batched, TakesNoIdempotencyKey) {
  world.apply(batching(kThreeInAMinute));
  const Error error = world.refusal(StartInstance{
      .ns = "default", .workflow = "one", .input = of("c-1", 1), .idempotency_key = "k"});
  EXPECT_EQ(error.code, "start.key_with_batch");
  EXPECT_EQ(rows("meta/pending-"), 0U);
}

TEST_F(Batched, HaveAQuotaOfKeys) {
  world.must(CreateNamespace{.name = "default",
                             .settings = Json::parse(R"({"quotas": {"startKeys": 2}})")});
  world.apply(batching(kThreeInAMinute));
  call(of("c-1", 1));
  call(of("c-2", 2));
  EXPECT_EQ(
      world.refusal(StartInstance{.ns = "default", .workflow = "one", .input = of("c-3", 3)}).code,
      "millrace.quota.startKeys");
  call(of("c-1", 4));
  world.run_for(minutes(1));
  call(of("c-3", 5));
  world.run_for(minutes(1));
  EXPECT_THAT(batches(), UnorderedElementsAre("1 4", "2", "5"));
}

TEST_F(Batched, StartsBeforeItsInputWouldBeTooLarge) {
  world.apply(batching("{maxSize: 1000, timeout: PT1M}"));
  const auto call_with = [&](int n, size_t bytes) {
    call({{"n", n}, {"text", std::string(bytes, 'x')}});
  };
  for (int n = 1; n <= 4; ++n) call_with(n, 300'000);
  EXPECT_THAT(batches(), ElementsAre("1 2 3")) << "the fourth one would make it 1.2 MB";
  call_with(5, 1'100'000);
  EXPECT_THAT(batches(), ElementsAre("1 2 3", "4"));
  call_with(6, 10);
  EXPECT_THAT(batches(), ElementsAre("1 2 3", "4", "5")) << "alone, because it is larger";
  world.run_for(minutes(1));
  EXPECT_THAT(batches(), ElementsAre("1 2 3", "4", "5", "6"));
  EXPECT_EQ(rows("meta/pending-"), 0U);
}

TEST_F(Batched, RefusesAnInputThatNestsTooDeep) {
  world.apply(batching("{maxSize: 2, timeout: PT1M}"));
  const auto nested = [](size_t levels) {  // an object, and arrays in it
    Json value = 1;
    for (size_t i = 1; i < levels; ++i) value = Json::array({std::move(value)});
    return Json{{"n", std::move(value)}};
  };
  EXPECT_EQ(
      world.refusal(StartInstance{.ns = "default", .workflow = "one", .input = nested(127)}).code,
      "millrace.limits.data");
  call(nested(126));
  call(nested(1));
  const std::vector<Json> all = started();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0]["status"], "complete");
}

TEST_F(Batched, ErasesTheInputsOfALargeBatchInPortions) {
  world.apply(batching("{maxSize: 300, timeout: PT1H}", "{type: event, event: {type: begin}}"));
  for (int i = 0; i < 300; ++i) world.publish("begin", fmt::format("e-{}", i), {{"n", i}});
  while (started().empty() && world.step()) {
  }
  ASSERT_THAT(started(), SizeIs(1));
  EXPECT_LT(rows("meta/pending-input/"), 300U);
  world.restart();  // checks the store, in which a batch may be over
  world.run_until_idle();
  const std::vector<Json> all = started();
  ASSERT_THAT(all, SizeIs(1));
  ASSERT_THAT(all[0]["input"]["events"], SizeIs(300));
  for (int i = 0; i < 300; ++i) EXPECT_EQ(all[0]["input"]["events"][i]["begin"]["n"], i);
  EXPECT_EQ(rows("meta/pending-"), 0U);
}

TEST_F(Batched, IsCancelledBeforeItBegins) {
  world.apply(batching("{maxSize: 300, timeout: PT1H}"));
  Json id;
  for (int i = 0; i < 200; ++i) id = call(of("c-1", i))["id"];
  const CancelInstance cancel = cancel_of(id);
  ASSERT_TRUE(cancel.pending);
  world.command(cancel);
  while (rows("meta/pending-input/") == 200U && world.step()) {
  }
  EXPECT_LT(rows("meta/pending-input/"), 200U);
  EXPECT_FALSE(cancel_of(id).pending);
  world.restart();  // checks the store, in which the batch is over
  world.run_until_idle();
  world.run_for(seconds(1));
  EXPECT_EQ(rows("meta/pending-"), 0U);
  EXPECT_THAT(started(), IsEmpty());
  EXPECT_EQ(world.refusal(cancel).code, "instance.not_found");
  EXPECT_NE(call(of("c-1", 1))["id"], id) << "the next batch begins";
}

TEST_F(Batched, IsCancelledWhereItWaitsBesideTheNextOne) {
  world.apply(
      "id: one\nsingular: true\nbatch: {maxSize: 2, timeout: PT1M}\nstates:\n"
      "- {id: wait, type: consumeEvent, event: {type: go}}\n");
  for (int n = 1; n <= 2; ++n) call({{"n", n}});
  const CancelInstance cancel = cancel_of(call({{"n", 3}})["id"]);
  for (int n = 4; n <= 5; ++n) call({{"n", n}});  // it is full, and the next one begins
  EXPECT_EQ(world.must(cancel)["pendingStart"], true);
  world.publish("go", "1");
  world.run_until_idle();
  world.run_for(minutes(2));
  EXPECT_THAT(batches(), ElementsAre("1 2", "5"));
}

TEST_F(Batched, IsSealedWithItsWorkflow) {
  world.apply(batching("{maxSize: 2, timeout: PT1M}", "{type: default}", "sealed: true"));
  call({{"word", "zebra"}});
  for (const auto& [key, value] : world.rows()) {
    EXPECT_EQ(value.find("zebra"), std::string::npos) << key;
  }
  call({{"word", "zebra"}});
  ASSERT_THAT(started(), SizeIs(1));
  EXPECT_EQ(started()[0]["status"], "complete");
  for (const auto& [key, value] : world.rows()) {
    EXPECT_EQ(value.find("zebra"), std::string::npos) << key;
  }
}

TEST_F(Batched, LosesNoInputAndStartsNoneTwice) {
  world.apply(batching("{maxSize: 3, timeout: PT7S, key: jq(.begin.customer)}",
                       "{type: event, event: {type: begin}}"));
  int deaths = 0;
  const auto die_at_each_step = [&] {
    for (int steps = 0; steps < 20 && world.step(); ++steps) world.restart_at(deaths++);
    world.run_until_idle();
  };
  for (int i = 0; i < 12; ++i) {
    world.publish("begin", fmt::format("e-{}", i), of(fmt::format("c-{}", i % 3), i));
    die_at_each_step();
    world.clock.advance(seconds(1));
  }
  for (int i = 0; i < 12; ++i) {
    world.clock.advance(seconds(1));
    die_at_each_step();
  }
  EXPECT_GT(deaths, 12);
  for (const Json& one : started()) EXPECT_EQ(one["status"], "complete");
  // Each third input of a key comes 6 seconds after its first one; the fourth one waits alone.
  EXPECT_THAT(batches("begin"), UnorderedElementsAre("0 3 6", "1 4 7", "2 5 8", "9", "10", "11"));
  EXPECT_EQ(rows("meta/pending-"), 0U);
}

}  // namespace
}  // namespace millrace
