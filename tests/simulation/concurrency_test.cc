// Workflows with `concurrency` through the whole engine: who waits for a slot, who is next, and
// what restarts, pauses, cancels, deadlines and new revisions do to the starts that wait.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

/// A workflow `ship` whose instances wait for the event `go` of their order.
std::string ship(const std::string& concurrency, const std::string& more = "") {
  return fmt::format(
      "id: ship\nconcurrency: {}\n{}states:\n"
      "- {{id: wait, type: consumeEvent, event: {{type: go, context: {{order: jq(.order)}}}}}}\n",
      concurrency, more);
}

constexpr const char* kOneForACustomer = "{limit: 1, key: jq(.customer)}";

class ConcurrencyTest : public testing::Test {
 protected:
  /// Starts an instance and returns its id.
  std::string start(const std::string& order, const std::string& customer = "c1", int rank = 0) {
    return world.start("ship", {{"order", order}, {"customer", customer}, {"rank", rank}})["id"];
  }
  Error refused(const std::string& order, const Json& customer = "c1") {
    return world.refusal(StartInstance{.ns = "default",
                                       .workflow = "ship",
                                       .input = Json{{"order", order}, {"customer", customer}},
                                       .idempotency_key = ""});
  }
  /// Ends the instance of the order.
  void go(const std::string& order) {
    world.publish("go", fmt::format("go-{}", ++gone_), nullptr, {{"order", order}});
    world.run_until_idle();
  }
  void cancel(const std::string& id) {
    world.must(CancelInstance{"default", parse_instance_id(id).value()});
  }
  std::string error_of(const std::string& id) { return world.instance(id)["error"]["code"]; }
  double queued() { return world.metric("millrace_starts_queued_total"); }

  World world;
  int gone_ = 0;
};

TEST_F(ConcurrencyTest, QueuesAStartUntilTheSlotIsFree) {
  world.apply(ship("{limit: 1}"));
  const std::string first = start("a");
  const std::string second = start("b");
  EXPECT_EQ(world.status(first), "waiting");
  EXPECT_EQ(world.status(second), "pending");
  EXPECT_EQ(queued(), 1);
  EXPECT_THAT(world.history(second), ElementsAre("started", "queued wait"));
  go("b");
  EXPECT_EQ(world.status(second), "pending") << "a start that waits takes no event";
  go("a");
  EXPECT_EQ(world.status(first), "complete");
  EXPECT_EQ(world.status(second), "waiting");
  EXPECT_THAT(world.history(second),
              ElementsAre("started", "queued wait", "admitted wait", "entered wait"));
  EXPECT_EQ(world.metric("millrace_starts_admitted_total"), 1);
  go("b");
  EXPECT_EQ(world.status(second), "complete");
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(ConcurrencyTest, GivesEachKeySlotsOfItsOwn) {
  world.apply(ship(kOneForACustomer));
  start("a", "c1");
  const std::string waits = start("b", "c1");
  const std::string passes = start("c", "c2");
  EXPECT_EQ(world.status(waits), "pending");
  EXPECT_EQ(world.status(passes), "waiting") << "a key with room passes one without";
  go("c");
  EXPECT_EQ(world.status(waits), "pending") << "the slot of another key";
  go("a");
  EXPECT_EQ(world.status(waits), "waiting");
}

TEST_F(ConcurrencyTest, HasAsManySlotsAsTheLimit) {
  world.apply(ship("{limit: 2}"));
  const std::string ids[] = {start("a"), start("b"), start("c"), start("d")};
  EXPECT_EQ(world.status(ids[1]), "waiting");
  EXPECT_EQ(world.status(ids[2]), "pending");
  go("b");
  EXPECT_EQ(world.status(ids[2]), "waiting");
  EXPECT_EQ(world.status(ids[3]), "pending");
}

TEST_F(ConcurrencyTest, AdmitsByPriorityThenInTheOrderOfTheStarts) {
  world.apply(ship("{limit: 1}", "priority: jq(.rank)\n"));
  start("a");
  const std::string low = start("low", "c1", -1);
  const std::string first = start("first", "c1", 5);
  const std::string second = start("second", "c1", 5);
  const std::string plain = start("plain", "c1", 0);
  std::vector<std::string> order;
  for (const char* const ended : {"a", "first", "second", "plain"}) {
    go(ended);
    for (const std::string& id : {low, first, second, plain}) {
      if (world.status(id) == "waiting") order.push_back(id);
    }
  }
  EXPECT_THAT(order, ElementsAre(first, second, plain, low));
}

TEST_F(ConcurrencyTest, TakesEqualNumbersForOneKeyAndForOnePriority) {
  world.apply(ship(kOneForACustomer, "priority: jq(.rank)\n"));
  const auto start = [&](const Json& customer, const Json& rank) {
    const std::string id =
        world.start("ship", {{"order", "a"}, {"customer", customer}, {"rank", rank}})["id"];
    return world.status(id);
  };
  EXPECT_EQ(start(7, 2), "waiting");
  EXPECT_EQ(start(7.0, 2.0), "pending");
  EXPECT_EQ(start(-0.0, -0.0), "waiting");
  EXPECT_EQ(start(0, 1e1), "pending");
}

TEST_F(ConcurrencyTest, RefusesAStartWhoseKeyIsTooLongOrWhosePriorityIsNoInteger) {
  world.apply(ship(kOneForACustomer, "priority: jq(.rank)\n"));
  const auto refusal = [&](const Json& input) {
    return world.refusal(
        StartInstance{.ns = "default", .workflow = "ship", .input = input, .idempotency_key = ""});
  };
  EXPECT_EQ(refusal({{"customer", std::string(600, 'x')}, {"rank", 1}}).code, "millrace.startKey");
  EXPECT_EQ(refusal({{"customer", 1}, {"rank", 1.5}}).code, "millrace.concurrency.priority");
  const Error wrong = refusal({{"customer", 1}, {"rank", "high"}});
  EXPECT_EQ(wrong.code, "millrace.concurrency.priority");
  EXPECT_THAT(wrong.message, HasSubstr("expected an integer"));
  EXPECT_THAT(world.instances(), SizeIs(0));
}

TEST_F(ConcurrencyTest, RefusesACallWithReject) {
  world.apply(ship("{limit: 1, key: jq(.customer), onLimit: reject}"));
  const std::string holder = start("a");
  const Error error = refused("b");
  EXPECT_EQ(error.code, "millrace.concurrency.limit");
  EXPECT_THAT(error.message, HasSubstr("of the key \"c1\""));
  EXPECT_THAT(error.message, HasSubstr("have not ended, such as " + holder +
                                       "; start it again when one has ended"));
  EXPECT_EQ(world.metric("millrace_starts_rejected_total"), 1);
  EXPECT_EQ(world.metric("millrace_starts_skipped_total"), 0);
  go("a");
  EXPECT_THAT(start("b"), SizeIs(36));
  EXPECT_EQ(queued(), 0);
}

TEST_F(ConcurrencyTest, SkipsEventsWithRejectAndSkip) {
  for (const char* const on_limit : {"reject", "skip"}) {
    const double before = world.metric("millrace_starts_skipped_total");
    const size_t instances = world.instances().size();
    world.apply(
        fmt::format("id: ship\nconcurrency: {{limit: 1, onLimit: {}}}\n"
                    "start: {{type: event, event: {{type: begin}}}}\nstates:\n"
                    "- {{id: wait, type: consumeEvent, event: {{type: go}}}}\n",
                    on_limit));
    for (int i = 0; i < 3; ++i) world.publish("begin", fmt::format("{} {}", on_limit, i));
    world.run_until_idle();
    EXPECT_THAT(world.instances(), SizeIs(instances + 1)) << on_limit;
    EXPECT_EQ(world.metric("millrace_starts_skipped_total"), before + 2) << on_limit;
    go("any");
  }
  EXPECT_THAT(world.dead_letters(), SizeIs(0));
}

TEST_F(ConcurrencyTest, CancelsTheOldestInstanceWithReplace) {
  world.apply(ship("{limit: 2, onLimit: replace}"));
  const std::string oldest = start("a");
  const std::string other = start("b");
  const std::string newest = start("c");
  EXPECT_EQ(world.status(oldest), "cancelled");
  EXPECT_EQ(error_of(oldest), "millrace.concurrency.replaced");
  EXPECT_THAT(world.instance(oldest)["error"]["msg"],
              HasSubstr("instance " + newest + ", another start of workflow \"ship\", took its"));
  EXPECT_EQ(world.status(other), "waiting");
  EXPECT_EQ(world.status(newest), "waiting");
  EXPECT_EQ(world.metric("millrace_starts_replaced_total"), 1);
  EXPECT_EQ(queued(), 0);
}

TEST_F(ConcurrencyTest, QueuesTheStartsOfEventsTicksAndGroups) {
  const std::string state = "states:\n- {id: wait, type: consumeEvent, event: {type: go}}\n";
  const std::string one = "concurrency: {limit: 1}\n";
  world.apply("id: by-event\n" + one + "start: {type: event, event: {type: begin}}\n" + state);
  world.apply("id: by-tick\n" + one + "start: {type: scheduled, cron: '@hourly'}\n" + state);
  world.apply("id: by-group\n" + one +
              "start: {type: eventsAnd, events: [{event: {type: x}}, {event: {type: y}}]}\n" +
              state);
  const auto statuses = [&](const std::string& workflow) {
    std::vector<std::string> all;
    for (const Json& instance : world.instances()) {
      if (instance["workflow"] == workflow) all.push_back(instance["status"]);
    }
    return all;
  };
  for (const char* const id : {"1", "2", "3"}) {
    world.publish("begin", id);
    world.publish("x", std::string("x") + id);
    world.publish("y", std::string("y") + id);
  }
  world.run_for(hours(2));
  EXPECT_THAT(statuses("by-event"), UnorderedElementsAre("waiting", "pending", "pending"));
  EXPECT_THAT(statuses("by-group"), UnorderedElementsAre("waiting", "pending", "pending"));
  EXPECT_THAT(statuses("by-tick"), UnorderedElementsAre("waiting", "pending"));
  go("any");
  EXPECT_THAT(statuses("by-event"), UnorderedElementsAre("complete", "waiting", "pending"));
  EXPECT_THAT(statuses("by-group"), UnorderedElementsAre("complete", "waiting", "pending"));
  EXPECT_THAT(statuses("by-tick"), UnorderedElementsAre("complete", "waiting"));
}

/// A workflow `order` that calls the subflow `ship` and keeps what it returns.
constexpr const char* kCaller = R"(id: order
functions: [{id: f, type: subflow, workflow: ship}]
states:
- id: call
  type: action
  action: {function: f, input: {order: jq(.order)}}
  catch: [{error: 'millrace.*', transition: caught}]
- {id: caught, type: noop}
)";

TEST_F(ConcurrencyTest, QueuesASubflow) {
  world.apply(ship("{limit: 1}"));
  start("a");
  const std::string caller = world.apply_order(kCaller, {{"order", "b"}});
  EXPECT_EQ(world.status(caller), "waiting");
  go("a");
  go("b");
  EXPECT_EQ(world.status(caller), "complete");
}

TEST_F(ConcurrencyTest, RaisesAnErrorInTheCallerOfARejectedSubflow) {
  world.apply(ship("{limit: 1, onLimit: reject}"));
  start("a");
  const std::string caller = world.apply_order(kCaller, {{"order", "b"}});
  EXPECT_EQ(world.status(caller), "complete");
  EXPECT_THAT(world.history(caller), testing::Contains("entered caught"));
}

TEST_F(ConcurrencyTest, ReturnsNullToTheCallerOfASkippedSubflow) {
  world.apply(ship("{limit: 1, onLimit: skip}"));
  start("a");
  const std::string caller = world.apply_order(kCaller, {{"order", "b"}});
  EXPECT_EQ(world.status(caller), "complete");
  EXPECT_THAT(world.history(caller), testing::Not(testing::Contains("entered caught")));
  EXPECT_EQ(world.metric("millrace_starts_skipped_total"), 1);
}

TEST_F(ConcurrencyTest, TakesACancelledStartOutOfTheQueue) {
  world.apply(ship("{limit: 1}"));
  start("a");
  const std::string cancelled = start("b");
  const std::string next = start("c");
  cancel(cancelled);
  EXPECT_EQ(world.status(cancelled), "cancelled");
  EXPECT_EQ(world.status(next), "pending");
  go("a");
  EXPECT_EQ(world.status(next), "waiting");
}

TEST_F(ConcurrencyTest, GivesTheSlotOfACancelledInstanceToTheNext) {
  world.apply(ship("{limit: 1}"));
  const std::string holder = start("a");
  const std::string next = start("b");
  cancel(holder);
  EXPECT_EQ(world.status(next), "waiting");
}

TEST_F(ConcurrencyTest, EndsAStartWhoseWaitTimesOut) {
  world.apply(ship("{limit: 1, timeout: PT10M}", "workflowRunTimeout: PT1H\n"));
  start("a");
  const std::string late = start("b");
  world.run_for(minutes(9));
  EXPECT_EQ(world.status(late), "pending");
  world.run_for(minutes(2));
  EXPECT_EQ(world.status(late), "failed");
  EXPECT_EQ(error_of(late), "millrace.concurrency.timeout");
  EXPECT_EQ(world.metric("millrace_start_waits_timed_out_total"), 1);
  EXPECT_EQ(world.rows_of("queues"), 2U) << "the slot of the first instance, and its counts";
}

TEST_F(ConcurrencyTest, CountsTheTimeoutsOfTheRunFromItsBegin) {
  world.apply(ship("{limit: 1}", "workflowRunTimeout: PT1H\n"));
  start("a");
  const std::string second = start("b");
  world.run_for(minutes(50));
  go("a");
  EXPECT_EQ(world.status(second), "waiting");
  world.run_for(minutes(50));
  EXPECT_EQ(world.status(second), "waiting");
  world.run_for(minutes(11));
  EXPECT_EQ(world.status(second), "timedout");
}

TEST_F(ConcurrencyTest, AdmitsNoStartWhileTheWorkflowIsPaused) {
  world.apply(ship("{limit: 1, timeout: PT1H}"));
  const std::string holder = start("a");
  const std::string first = start("b");
  const std::string second = start("c");
  world.must(PauseWorkflow{.ns = "default", .id = "ship"});
  EXPECT_EQ(world.status(first), "paused");
  cancel(holder);
  world.run_for(hours(2));
  EXPECT_EQ(world.status(first), "paused") << "neither its slot nor its deadline comes";
  world.restart();
  world.run_until_idle();
  world.must(PauseWorkflow{.ns = "default", .id = "ship", .paused = false});
  EXPECT_EQ(world.status(first), "waiting");
  EXPECT_EQ(world.status(second), "pending");
  go("b");
  EXPECT_EQ(world.status(second), "waiting");
}

TEST_F(ConcurrencyTest, KeepsThePlaceOfAPausedStart) {
  world.apply(ship("{limit: 1}"));
  start("a");
  const std::string paused = start("b");
  const std::string next = start("c");
  world.must(PauseInstance{"default", parse_instance_id(paused).value()});
  go("a");
  EXPECT_EQ(world.status(paused), "paused");
  EXPECT_EQ(world.status(next), "pending") << "the paused instance holds the slot";
  world.must(ResumeInstance{"default", parse_instance_id(paused).value()});
  EXPECT_EQ(world.status(paused), "waiting");
}

TEST_F(ConcurrencyTest, GoesOnAfterARestart) {
  world.apply(ship("{limit: 1}", "priority: jq(.rank)\n"));
  const std::string holder = start("a");
  const std::string low = start("b", "c1", 1);
  const std::string high = start("c", "c1", 2);
  for (int i = 0; i < 2; ++i) {
    world.restart();
    world.run_until_idle();
    EXPECT_EQ(world.status(holder), "waiting");
    EXPECT_EQ(world.status(low), "pending") << "a start that waits does not continue by itself";
    EXPECT_EQ(world.status(high), "pending");
  }
  go("a");
  EXPECT_EQ(world.metric("millrace_namespace_queued_starts{namespace=\"default\"}"), 1);
  EXPECT_EQ(world.status(high), "waiting");
  EXPECT_EQ(world.status(low), "pending");
}

TEST_F(ConcurrencyTest, LosesNoSlotIfTheProcessDiesWhenOneBecomesFree) {
  world.apply(ship("{limit: 1}"));
  std::vector<std::string> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(start(std::to_string(i)));
  for (size_t i = 0; i + 1 < ids.size(); ++i) {
    world.publish("go", fmt::format("end-{}", i), nullptr, {{"order", std::to_string(i)}});
    world.restart_at(static_cast<int>(i));
    world.run_until_idle();
    EXPECT_EQ(world.status(ids[i]), "complete") << i;
    EXPECT_EQ(world.status(ids[i + 1]), "waiting") << i;
    if (i + 2 < ids.size()) {
      EXPECT_EQ(world.status(ids[i + 2]), "pending") << i;
    }
  }
}

TEST_F(ConcurrencyTest, AdmitsMoreWithTheHigherLimitOfANewRevision) {
  world.apply(ship("{limit: 1}"));
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(start(std::to_string(i)));
  world.apply(ship("{limit: 3}"));
  EXPECT_EQ(world.status(ids[2]), "waiting");
  EXPECT_EQ(world.status(ids[3]), "pending");
  world.apply("id: ship\nstates:\n- {id: wait, type: consumeEvent, event: {type: go}}\n");
  EXPECT_EQ(world.status(ids[3]), "waiting") << "without `concurrency` no start waits";
}

TEST_F(ConcurrencyTest, AdmitsManyStartsInBoundedPortions) {
  world.apply(ship("{limit: 1, key: jq(.customer)}"));
  constexpr int kMany = 300;
  for (int i = 0; i < 2 * kMany; ++i) {
    start(std::to_string(i), std::to_string(i % kMany));
  }
  EXPECT_EQ(queued(), kMany);
  world.apply(ship("{limit: 2, key: jq(.customer)}"));
  world.run_until_idle();
  EXPECT_EQ(world.metric("millrace_starts_admitted_total"), kMany);
}

TEST_F(ConcurrencyTest, AdmitsNoStartWhileTheWorkflowIsDeleted) {
  world.apply(ship("{limit: 1}"));
  start("a");
  const std::string waits = start("b");
  world.must(DeleteWorkflow{.ns = "default", .id = "ship", .cancel = true});
  EXPECT_EQ(world.status(waits), "cancelled");
  EXPECT_EQ(world.metric("millrace_starts_admitted_total"), 0);
  EXPECT_EQ(world.rows_of("queues"), 0U);
}

TEST_F(ConcurrencyTest, NeedsAFreeSlotForARestart) {
  world.apply(ship("{limit: 1}"));
  const std::string ended = start("a");
  cancel(ended);
  const std::string holder = start("b");
  const InstanceId id = parse_instance_id(ended).value();
  const Error error = world.refusal(RestartInstance{"default", id});
  EXPECT_EQ(error.code, "millrace.concurrency.limit");
  EXPECT_THAT(error.message,
              HasSubstr("such as " + holder + "; repeat the command when one has ended"));
  go("b");
  world.must(RestartInstance{"default", id});
  const std::string next = start("c");
  EXPECT_EQ(world.status(next), "pending") << "the restarted instance holds the slot";
}

TEST_F(ConcurrencyTest, RestartsWithTheSlotsOfTheNewestRevision) {
  world.apply(ship("{limit: 1}"));
  const std::string ended = start("a");
  cancel(ended);
  start("b");
  world.apply(ship("{limit: 2}"));
  world.must(RestartInstance{"default", parse_instance_id(ended).value()});
  EXPECT_EQ(world.status(start("c")), "pending");
}

TEST_F(ConcurrencyTest, BoundsTheStartsThatWaitByAQuota) {
  world.must(
      CreateNamespace{.name = "default", .settings = Json{{"quotas", {{"queuedStarts", 1}}}}});
  world.apply(ship("{limit: 1}"));
  start("a");
  start("b");
  const Error error = refused("c");
  EXPECT_EQ(error.code, "millrace.quota.queuedStarts");
  go("a");
  EXPECT_THAT(start("c"), SizeIs(36));
}

TEST_F(ConcurrencyTest, HoldsTheSlotThroughTheNextRuns) {
  world.apply(
      "id: ship\nconcurrency: {limit: 1}\nstates:\n"
      "- {id: wait, type: consumeEvent, event: {type: go}, continueAsNew: '{}'}\n");
  const std::string holder = start("a");
  const std::string next = start("b");
  go("a");
  EXPECT_EQ(world.status(holder), "waiting");
  EXPECT_EQ(world.status(next), "pending");
}

}  // namespace
}  // namespace millrace
