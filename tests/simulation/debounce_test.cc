// The `debounce` of a workflow through the whole engine: each kind of start, restarts, and rows.
#include <string>
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
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::string debounced(const std::string& debounce, const std::string& start = "{type: default}",
                      const std::string& more = "name: x") {
  return fmt::format("id: one\n{}\ndebounce: {}\nstart: {}\nstates:\n- {{id: end, type: noop}}\n",
                     more, debounce, start);
}

constexpr const char* kTenSeconds = "{period: PT10S, key: jq(.customer)}";

class Debounced : public testing::Test {
 protected:
  Json call(const Json& input, const std::string& key = "") {
    return world.must(
        StartInstance{.ns = "default", .workflow = "one", .input = input, .idempotency_key = key});
  }
  static Json of(const std::string& customer, int number) {
    return {{"customer", customer}, {"n", number}};
  }
  /// The numbers in the inputs of the instances, oldest first.
  std::vector<int> numbers() {
    std::vector<int> all;
    for (const Json& one : world.instances()) all.push_back(one["input"]["n"].get<int>());
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

  /// What the list of queues shows.
  Json pending() {
    const Snapshot view = Snapshot::take(world.environment()).value();
    return world.queries().queues(view, "default", 10, "", "").value()["items"];
  }

  World world;
};

TEST_F(Debounced, StartsOnceWithTheNewestInput) {
  world.apply(debounced(kTenSeconds));
  const Json first = call(of("c-1", 1));
  EXPECT_EQ(first["created"], true);
  EXPECT_EQ(first["startsAt"], format_rfc3339(world.clock.now() + seconds(10)));
  world.run_for(seconds(6));
  const Json second = call(of("c-1", 2));
  EXPECT_EQ(second["id"], first["id"]) << "the instance that is to start";
  EXPECT_EQ(second["created"], false);
  EXPECT_EQ(second["startsAt"], format_rfc3339(world.clock.now() + seconds(10)));
  world.run_for(seconds(9));
  EXPECT_THAT(numbers(), IsEmpty());
  world.run_for(seconds(1));
  EXPECT_THAT(numbers(), ElementsAre(2));
  EXPECT_EQ(world.instances()[0]["id"], first["id"]);
  EXPECT_EQ(world.metric("millrace_starts_debounced_total"), 1);
  EXPECT_EQ(rows("meta/pending-start"), 0U);
  EXPECT_NE(call(of("c-1", 3))["id"], first["id"]);
}

TEST_F(Debounced, PutsOffEachKeyAlone) {
  world.apply(debounced(kTenSeconds));
  call(of("c-1", 1));
  world.run_for(seconds(5));
  call(of("c-2", 2));
  call(of("c-2", 3));
  EXPECT_EQ(rows("meta/pending-start/"), 2U);
  world.run_for(seconds(5));
  EXPECT_THAT(numbers(), ElementsAre(1));
  world.run_for(seconds(5));
  EXPECT_THAT(numbers(), ElementsAre(1, 3));
}

TEST_F(Debounced, IsPutOffNoLongerThanTheTimeout) {
  world.apply(debounced("{period: PT10S, timeout: PT25S}"));
  for (int i = 0; i < 4; ++i) {
    call({{"n", i}});
    world.run_for(seconds(8));
  }
  // Requests at 0, 8, 16 and 24 seconds; the timeout ends at 25 seconds.
  EXPECT_THAT(numbers(), ElementsAre(3));
}

TEST_F(Debounced, KeepsThePendingStartOfAnIdempotencyKey) {
  world.apply(debounced(kTenSeconds));
  const Json first = call(of("c-1", 1), "k");
  world.run_for(seconds(5));
  const Json again = call(of("c-1", 1), "k");
  EXPECT_EQ(again["id"], first["id"]);
  EXPECT_EQ(again["startsAt"], first["startsAt"]) << "the same request moves nothing";
  const Error other = world.refusal(StartInstance{
      .ns = "default", .workflow = "one", .input = of("c-1", 2), .idempotency_key = "k"});
  EXPECT_EQ(other.code, "start.conflict");
  world.run_for(seconds(5));
  EXPECT_THAT(numbers(), ElementsAre(1));
  const Json known = call(of("c-1", 1), "k");
  EXPECT_EQ(known["id"], first["id"]);
  EXPECT_FALSE(known.contains("startsAt"));
}

TEST_F(Debounced, StartsByTheNewestEvent) {
  world.apply(debounced("{period: PT10S}", "{type: event, event: {type: begin}}"));
  for (int i = 1; i <= 3; ++i) {
    world.publish("begin", fmt::format("e-{}", i), {{"n", i}});
    world.run_until_idle();
    world.run_for(seconds(4));
  }
  EXPECT_THAT(world.instances(), IsEmpty());
  world.run_for(seconds(6));
  const std::vector<Json> started = world.instances();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_EQ(started[0]["input"], (Json{{"begin", {{"n", 3}}}}));
  EXPECT_THAT(world.dead_letters(), IsEmpty());
}

TEST_F(Debounced, StartsByTheNewestGroup) {
  world.apply(debounced("{period: PT10S}",
                        "{type: eventsAnd, correlate: [order], events: [{type: a}, {type: b}]}"));
  for (const char* const order : {"1", "2"}) {
    world.publish("a", fmt::format("a{}", order), Json(order), {{"order", std::string(order)}});
    world.publish("b", fmt::format("b{}", order), Json(order), {{"order", std::string(order)}});
    world.run_until_idle();
  }
  world.run_for(seconds(10));
  const std::vector<Json> started = world.instances();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_EQ(started[0]["input"], (Json{{"a", "2"}, {"b", "2"}}));
  EXPECT_EQ(rows("groups/"), 0U);
}

TEST_F(Debounced, PutsOffTicks) {
  world.apply(debounced("{period: PT90M}", "{type: scheduled, cron: '@hourly'}"));
  world.run_for(hours(5));
  EXPECT_THAT(world.instances(), IsEmpty()) << "each tick moves the start";
  world.apply(debounced("{period: PT30M}", "{type: scheduled, cron: '@hourly'}"));
  world.run_for(hours(3));
  EXPECT_THAT(world.instances(), Not(IsEmpty()));
}

constexpr const char* kDebouncedCaller = R"(
id: caller
functions: [{id: one, type: subflow, workflow: one}]
states:
- id: call
  type: action
  action: {function: one, input: {customer: c-1, n: jq(.n)}}
  catch: [{error: millrace.debounced, transition: replaced}]
- {id: replaced, type: noop}
)";

TEST_F(Debounced, GivesTheCallersOfReplacedSubflowsAnError) {
  world.apply(debounced(kTenSeconds));
  world.apply(kDebouncedCaller);
  const std::string first = world.start("caller", {{"n", 1}})["id"];
  const std::string second = world.start("caller", {{"n", 2}})["id"];
  EXPECT_THAT(world.history(first), Contains("entered replaced"));
  EXPECT_EQ(world.status(first), "complete");
  EXPECT_NE(world.status(second), "complete");
  world.restart();
  world.run_until_idle();
  world.run_for(seconds(10));
  EXPECT_EQ(world.status(second), "complete");
  EXPECT_THAT(world.history(second), Not(Contains("entered replaced")));
}

TEST_F(Debounced, IsCancelledBeforeItBegins) {
  world.apply(debounced(kTenSeconds));
  const std::string id = call(of("c-1", 1), "k")["id"];
  call(of("c-2", 2));
  const CancelInstance cancel = cancel_of(id);
  EXPECT_EQ(world.must(cancel), (Json{{"id", id}, {"cancelled", true}, {"pendingStart", true}}));
  EXPECT_EQ(world.metric("millrace_pending_starts_cancelled_total"), 1);
  EXPECT_EQ(rows("meta/pending-start/"), 1U);
  EXPECT_EQ(rows("meta/pending-start-at/"), 1U);
  EXPECT_EQ(world.refusal(cancel).code, "instance.not_found") << "it is dropped once";
  world.restart();
  world.run_until_idle();
  EXPECT_EQ(world.refusal(cancel_of(id)).code, "instance.not_found");
  world.run_for(seconds(10));
  EXPECT_THAT(numbers(), ElementsAre(2));
  EXPECT_EQ(rows("meta/pending-start"), 0U);
  EXPECT_NE(call(of("c-1", 3), "k")["id"], id) << "the idempotency key was not used up";
}

TEST_F(Debounced, IsCancelledAsAnInstanceOnceItHasStarted) {
  world.apply(
      "id: one\ndebounce: {period: PT10S}\nstates:\n- {id: wait, type: delay, duration: PT1H}\n");
  const std::string id = call(of("c-1", 1))["id"];
  const CancelInstance before = cancel_of(id);
  ASSERT_TRUE(before.pending);
  world.run_for(seconds(10));
  EXPECT_FALSE(cancel_of(id).pending);
  EXPECT_EQ(world.must(before), (Json{{"id", id}, {"cancelled", true}}));
  EXPECT_EQ(world.status(id), "cancelled");
  EXPECT_EQ(world.metric("millrace_pending_starts_cancelled_total"), 0);
}

TEST_F(Debounced, IsNotCancelledForAnotherInstance) {
  world.apply(debounced(kTenSeconds));
  CancelInstance cancel = cancel_of(call(of("c-1", 1))["id"]);
  cancel.pending = cancel_of(call(of("c-2", 2))["id"]).pending;
  EXPECT_EQ(world.refusal(cancel).code, "instance.not_found");
  world.run_for(seconds(10));
  EXPECT_THAT(numbers(), testing::UnorderedElementsAre(1, 2));
}

TEST_F(Debounced, GivesTheCallerOfACancelledStartTheErrorOfACancelledSubflow) {
  world.apply(debounced(kTenSeconds));
  world.apply(kDebouncedCaller);
  const std::string caller = world.start("caller", {{"n", 1}})["id"];
  const Json calls = world.instance(caller)["calls"];
  ASSERT_THAT(calls, SizeIs(1));
  const CancelInstance cancel = cancel_of(calls[0]["instance"]);
  ASSERT_TRUE(cancel.pending);
  EXPECT_EQ(world.must(cancel)["pendingStart"], true);
  world.run_until_idle();
  EXPECT_EQ(world.status(caller), "failed");
  EXPECT_EQ(world.instance(caller)["error"]["code"], "direktiv.cancels.api");
  world.run_for(seconds(10));
  EXPECT_THAT(world.instances(), SizeIs(1)) << "only the caller";
}

TEST_F(Debounced, StartsNothingForACallerThatWaitsNoMore) {
  world.apply(debounced(kTenSeconds));
  world.apply(kDebouncedCaller);
  const std::string caller = world.start("caller", {{"n", 1}})["id"];
  world.must(CancelInstance{"default", parse_instance_id(caller).value()});
  world.run_for(minutes(1));
  EXPECT_THAT(world.instances(), SizeIs(1)) << "the caller";
  EXPECT_EQ(rows("meta/pending-start"), 0U);
}

TEST_F(Debounced, WaitsUntilTheRateLimitPermitsTheStart) {
  world.apply(debounced("{period: PT1M, key: jq(.n)}", "{type: default}",
                        "rateLimit: {limit: 1, period: PT10M}"));
  call({{"n", 1}});
  world.run_for(seconds(1));
  call({{"n", 2}});
  world.run_for(minutes(2));
  EXPECT_THAT(numbers(), ElementsAre(1));
  const StartInstance third{.ns = "default", .workflow = "one", .input = {{"n", 3}}};
  EXPECT_EQ(world.refusal(third).code, "millrace.rateLimit");
  // The first one has started after one minute, and the second one may start ten minutes later.
  world.run_for(minutes(8) + seconds(58));
  EXPECT_THAT(numbers(), ElementsAre(1));
  world.run_for(seconds(1));
  EXPECT_THAT(numbers(), ElementsAre(1, 2));
}

TEST_F(Debounced, WaitsForTheEndOfTheInstanceOfASingularWorkflow) {
  world.apply(
      "id: one\nsingular: true\ndebounce: {period: PT10S}\nstates:\n"
      "- {id: wait, type: consumeEvent, event: {type: go}}\n");
  call({{"n", 1}});
  world.run_for(seconds(10));
  call({{"n", 2}});
  EXPECT_EQ(world.metric("millrace_pending_starts_refused_total"), 0);
  world.run_for(minutes(5));
  EXPECT_THAT(numbers(), ElementsAre(1));
  EXPECT_EQ(world.metric("millrace_pending_starts_refused_total"), 30) << "every 10 seconds";
  const Json waiting = pending();
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting[0]["refusal"]["code"], "direktiv.mutex");
  EXPECT_EQ(waiting[0]["refusal"]["msg"],
            "workflow \"one\" is singular, and an instance of it has not ended");
  EXPECT_EQ(waiting[0]["holder"]["instance"], world.instances()[0]["id"]);
  world.publish("go", "1");
  world.run_until_idle();
  EXPECT_FALSE(pending()[0].contains("refusal")) << "it is permitted now, and is tried soon";
  world.run_for(seconds(10));
  EXPECT_THAT(numbers(), ElementsAre(1, 2));
  EXPECT_THAT(pending(), IsEmpty());
}

TEST_F(Debounced, ShowsTheQuotaThatDoesNotPermitTheStartYet) {
  world.must(CreateNamespace{.name = "default",
                             .settings = Json::parse(R"({"quotas": {"instances": 1}})")});
  world.apply(debounced(kTenSeconds));
  world.apply("id: other\nstates:\n- {id: wait, type: consumeEvent, event: {type: go}}\n");
  world.start("other", Json::object());
  call(of("c-1", 1));
  world.run_for(seconds(30));
  EXPECT_EQ(world.metric("millrace_pending_starts_refused_total"), 3);
  const Json waiting = pending();
  ASSERT_EQ(waiting.size(), 1U);
  EXPECT_EQ(waiting[0]["refusal"]["code"], "millrace.quota.instances");
  EXPECT_FALSE(waiting[0].contains("holder"));
}

TEST_F(Debounced, ForgetsTheStartsOfADeletedWorkflow) {
  world.apply(debounced(kTenSeconds));
  call(of("c-1", 1));
  const Json deleted = world.must(DeleteWorkflow{.ns = "default", .id = "one", .cancel = true});
  EXPECT_EQ(deleted, (Json{{"cancelled", 0}, {"pendingStarts", 1}}));
  EXPECT_EQ(rows("meta/pending-start"), 0U) << "they do not stay until they are due";
  world.run_for(minutes(1));
  EXPECT_THAT(world.instances(), IsEmpty());
  EXPECT_EQ(world.metric("millrace_pending_starts_cancelled_total"), 1);
}

TEST_F(Debounced, GivesTheCallerOfAStartOfADeletedWorkflowAnError) {
  world.apply(debounced(kTenSeconds));
  world.apply(kDebouncedCaller);
  const std::string caller = world.start("caller", {{"n", 1}})["id"];
  world.must(DeleteWorkflow{.ns = "default", .id = "one"});
  world.run_until_idle();
  EXPECT_EQ(world.status(caller), "failed");
  EXPECT_EQ(world.instance(caller)["error"]["code"], "direktiv.subflow.notExist");
}

TEST_F(Debounced, AreDroppedTogether) {
  world.apply(debounced(kTenSeconds));
  for (int n = 0; n < 100; ++n) call(of(fmt::format("c-{}", n), n));
  world.run_for(seconds(1));
  const TimePoint second = world.clock.now();
  call(of("late", 100));
  // One batch of many inputs, which are erased in portions.
  world.apply("id: two\nbatch: {maxSize: 300, timeout: PT1H}\nstates:\n- {id: end, type: noop}\n");
  for (int n = 0; n < 200; ++n) {
    world.must(StartInstance{.ns = "default", .workflow = "two", .input = Json::object()});
  }
  const DropPendingStarts late{.ns = "default", .workflow = "one", .since = second};
  EXPECT_EQ(world.must(late), (Json{{"dropped", 1}}));
  const DropPendingStarts one{.ns = "default", .workflow = "one", .since = {}};
  EXPECT_EQ(world.must(one), (Json{{"dropped", 100}})) << "in several batches";
  EXPECT_EQ(rows("meta/pending-start/"), 1U);
  EXPECT_EQ(world.must(one), (Json{{"dropped", 0}}));
  EXPECT_EQ(world.refusal(DropPendingStarts{.ns = "default", .workflow = "none", .since = {}}).code,
            "workflow.not_found");
  world.restart();
  const DropPendingStarts all{.ns = "default", .workflow = "", .since = {}};
  EXPECT_EQ(world.must(all), (Json{{"dropped", 1}}));
  EXPECT_EQ(world.must(all), (Json{{"dropped", 0}})) << "its last rows are no pending start";
  world.run_for(minutes(2));
  EXPECT_THAT(world.instances(), IsEmpty());
  EXPECT_EQ(rows("meta/pending-"), 0U);
}

TEST_F(Debounced, HaveAQuotaOfKeys) {
  world.must(CreateNamespace{.name = "default",
                             .settings = Json::parse(R"({"quotas": {"startKeys": 2}})")});
  world.apply(debounced(kTenSeconds));
  call(of("c-1", 1));
  call(of("c-2", 2));
  EXPECT_EQ(
      world.refusal(StartInstance{.ns = "default", .workflow = "one", .input = of("c-3", 3)}).code,
      "millrace.quota.startKeys");
  call(of("c-1", 4));
  world.run_for(seconds(10));
  call(of("c-3", 5));
  world.run_for(seconds(10));
  EXPECT_THAT(numbers(), testing::UnorderedElementsAre(2, 4, 5));
}

TEST_F(Debounced, LosesNoStartAndStartsNoneTwice) {
  world.apply(debounced("{period: PT10S, key: jq(.begin.customer)}",
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
  std::vector<int> started;
  for (const Json& one : world.instances()) {
    EXPECT_EQ(one["status"], "complete");
    started.push_back(one["input"]["begin"]["n"].get<int>());
  }
  EXPECT_THAT(started, testing::UnorderedElementsAre(9, 10, 11)) << "the newest of each key";
  EXPECT_EQ(rows("meta/pending-start"), 0U);
}

}  // namespace
}  // namespace millrace
