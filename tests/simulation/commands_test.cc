// Commands, queries and waits for an end, through the whole engine.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/answer_code.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kOneState = R"(
id: one
states:
- {id: done, type: noop}
)";

constexpr const char* kWaitsForPaid = R"(
id: waits
start: {type: event, event: {type: begin}}
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)";

InstanceId id_in(const Json& started) {
  return *parse_instance_id(started["id"].get<std::string>());
}

TEST(Commands, AreAnsweredAfterTheirCommit) {
  World world;
  world.apply(kWaitsForPaid);
  const auto before = world.rows();
  const Answered answered = world.command(StartInstance{.ns = "default", .workflow = "waits"});
  EXPECT_EQ(answer_code(answered), "not answered");
  world.crash_after_commit();
  EXPECT_EQ(answer_code(answered), "not answered") << "the process died before the answer";
  world.recover();
  world.run_until_idle();
  EXPECT_EQ(answer_code(answered), "not answered");
  EXPECT_THAT(world.instances(), SizeIs(1)) << "the command was committed";

  const Answered lost = world.command(StartInstance{.ns = "default", .workflow = "waits"});
  world.restart();
  world.run_until_idle();
  EXPECT_EQ(answer_code(lost), "not answered");
  EXPECT_THAT(world.instances(), SizeIs(1));
}

TEST(Commands, RefuseUnknownNamespacesAndWorkflows) {
  World world;
  world.apply(kOneState);
  const struct {
    Command command;
    const char* code;
  } rows[] = {
      {World::application(kOneState, "nowhere"), "namespace.not_found"},
      {StartInstance{.ns = "nowhere", .workflow = "one"}, "namespace.not_found"},
      {StartInstance{.ns = "default", .workflow = "two"}, "workflow.not_found"},
      {DeleteWorkflow{.ns = "nowhere", .id = "one"}, "namespace.not_found"},
      {DeleteWorkflow{.ns = "default", .id = "two"}, "workflow.not_found"},
      {DeleteNamespace{.name = "nowhere"}, "namespace.not_found"},
      {DeleteNamespace{.name = "default", .cancel = true}, "namespace.not_empty"},
  };
  const auto before = world.rows();
  for (const auto& row : rows) {
    const Answered answered = world.command(row.command);
    world.run_until_idle();
    EXPECT_EQ(answer_code(answered), row.code);
  }
  EXPECT_EQ(world.rows(), before) << "a refused command writes nothing";
}

TEST(Commands, CreateANamespaceOnce) {
  World world;
  EXPECT_EQ(world.must(CreateNamespace{.name = "a"}), (Json{{"name", "a"}, {"created", true}}));
  EXPECT_EQ(world.must(CreateNamespace{.name = "a"}), (Json{{"name", "a"}, {"created", false}}));
  world.restart();
  EXPECT_EQ(world.must(CreateNamespace{.name = "a"}), (Json{{"name", "a"}, {"created", false}}));
  EXPECT_EQ(world.must(CreateNamespace{.name = "default"})["created"], false);
}

TEST(Revisions, AreCreatedForEachChangeOfTheDefinition) {
  World world;
  const auto answer = [](int revision, bool changed) {
    return Json{{"id", "one"}, {"revision", revision}, {"changed", changed}};
  };
  EXPECT_EQ(world.apply(kOneState), answer(1, true));
  EXPECT_EQ(world.apply(kOneState), answer(1, false));
  const std::string other = std::string(kOneState) + "# the same, said otherwise\n";
  EXPECT_EQ(world.apply(other), answer(2, true));
  world.restart();
  EXPECT_EQ(world.apply(other), answer(2, false));
  EXPECT_EQ(world.apply(kOneState), answer(3, true)) << "an older text becomes a new revision";
}

TEST(Revisions, ApplyToNewInstancesOnly) {
  World world;
  world.apply(kWaitsForPaid);
  world.publish("begin", "1");
  world.run_until_idle();
  world.apply(R"(
id: waits
start: {type: event, event: {type: begin-anew}}
states:
- {id: otherwise, type: consumeEvent, event: {type: go}}
)");
  world.restart();
  world.publish("begin", "2");
  world.publish("begin-anew", "3");
  world.publish("go", "4");
  world.run_until_idle();
  const auto instances = world.instances();
  ASSERT_THAT(instances, SizeIs(2));
  EXPECT_EQ(instances[0]["revision"], 1);
  EXPECT_EQ(instances[0]["state"], "wait");
  EXPECT_EQ(instances[1]["revision"], 2);
  EXPECT_EQ(instances[1]["state"], "otherwise");
  for (const Json& instance : instances) EXPECT_EQ(instance["status"], "complete");
}

TEST(Deletion, RefusesAWorkflowWithLiveInstancesUnlessItMayCancelThem) {
  World world;
  world.apply(kWaitsForPaid);
  world.publish("begin", "1");
  world.publish("begin", "2");
  world.publish("go", "3");
  world.publish("begin", "4");
  world.run_until_idle();
  const Answered refused = world.command(DeleteWorkflow{.ns = "default", .id = "waits"});
  world.run_until_idle();
  EXPECT_EQ(answer_code(refused), "workflow.has_instances");
  EXPECT_EQ(world.metric("millrace_listeners"), 2);

  EXPECT_EQ(world.must(DeleteWorkflow{.ns = "default", .id = "waits", .cancel = true}),
            (Json{{"cancelled", 1}}));
  EXPECT_EQ(world.metric("millrace_listeners"), 0);
  world.restart();
  world.publish("begin", "5");
  world.publish("go", "6");
  world.run_until_idle();
  EXPECT_EQ(world.metric("millrace_listeners"), 0);
  const auto instances = world.instances();
  ASSERT_THAT(instances, SizeIs(3)) << "the instances stay readable";
  EXPECT_EQ(instances[0]["status"], "complete");
  EXPECT_EQ(instances[2]["status"], "cancelled");
  EXPECT_EQ(instances[2]["workflow"], "waits");
  EXPECT_EQ(instances[2]["error"]["code"], "direktiv.cancels.api");
  EXPECT_THAT(world.history(instances[2]["id"]),
              ElementsAre("started", "entered wait", "cancelled wait", "ended wait"));

  EXPECT_EQ(world.apply(kWaitsForPaid)["revision"], 1) << "a new workflow with the same id";
}

TEST(Deletion, LetsOtherCommandsThroughWhileItCancelsManyInstances) {
  World world;
  world.apply(kWaitsForPaid);
  world.apply(kOneState);
  for (int i = 0; i < 600; ++i) world.publish("begin", fmt::format("{}", i));
  world.run_until_idle();
  const Answered deleted =
      world.command(DeleteWorkflow{.ns = "default", .id = "waits", .cancel = true});
  world.step();
  EXPECT_EQ(answer_code(deleted), "not answered");
  const Answered other = world.command(StartInstance{.ns = "default", .workflow = "one"});
  world.step();
  EXPECT_EQ(answer_code(deleted), "not answered");
  EXPECT_EQ(answer_code(other), "ok");
  world.run_until_idle();
  ASSERT_EQ(answer_code(deleted), "ok");
  EXPECT_EQ(***deleted, (Json{{"cancelled", 600}}));
  EXPECT_EQ(world.metric("millrace_listeners"), 0);
}

TEST(Cancel, EndsAWaitingAndAnEvaluatingInstance) {
  World world;
  world.apply(kWaitsForPaid);
  world.apply("id: thinks\nstates: [{id: think, type: noop, transform: jq(think)}]");
  world.evaluator.define("think", [](const Json& input) -> QueryResult { return input; });
  world.evaluator.hold();
  for (const char* workflow : {"waits", "thinks"}) {
    const Json started = world.start(workflow);
    const InstanceId id = id_in(started);
    EXPECT_EQ(world.must(CancelInstance{.ns = "default", .instance = id}),
              (Json{{"id", started["id"]}, {"cancelled", true}}));
    EXPECT_EQ(world.instance(started["id"])["status"], "cancelled");
    EXPECT_EQ(world.instance(started["id"])["error"]["code"], "direktiv.cancels.api");
    const Answered again = world.command(CancelInstance{.ns = "default", .instance = id});
    world.run_until_idle();
    EXPECT_EQ(answer_code(again), "instance.ended");
    EXPECT_THAT(
        (**again).error().message,
        testing::HasSubstr("has ended already, its status is cancelled: it cannot be cancelled; "
                           "`restart` runs it again from its first state, `delete` removes it"));
  }
  world.evaluator.release();
  world.publish("go", "1");
  world.run_until_idle();
  for (const Json& instance : world.instances()) EXPECT_EQ(instance["status"], "cancelled");
}

TEST(Cancel, StopsTheEvaluationsOfInstancesThatHaveEnded) {
  World world;
  for (const char* id : {"one", "deleted", "bounded", "other"}) {
    const bool is_bounded = std::string_view(id) == "bounded";
    world.apply(fmt::format("id: {}\n{}states: [{{id: think, type: noop, transform: jq(think)}}]",
                            id, is_bounded ? "timeouts: {kill: 1m}\n" : ""));
  }
  world.evaluator.define("think", [](const Json& input) -> QueryResult { return input; });
  world.evaluator.hold();
  const InstanceId one = id_in(world.start("one"));
  for (const char* id : {"deleted", "bounded", "other"}) world.start(id);
  ASSERT_EQ(world.evaluator.waiting(), 4U);
  EXPECT_EQ(world.evaluator.stopped(), 0U);

  world.must(CancelInstance{.ns = "default", .instance = one});
  EXPECT_EQ(world.evaluator.stopped(), 1U);
  world.must(DeleteWorkflow{.ns = "default", .id = "deleted", .cancel = true});
  EXPECT_EQ(world.evaluator.stopped(), 2U);
  world.run_for(seconds(120));
  EXPECT_EQ(world.evaluator.stopped(), 3U) << "the instance that its timeout has ended";
  EXPECT_EQ(world.evaluator.waiting(), 4U);
  world.evaluator.release();
  world.run_until_idle();
  EXPECT_EQ(world.instance(to_string(one))["status"], "cancelled");
}

TEST(Commands, NameTheReasonWhenAnInstanceCannotBeCancelledOrDeleted) {
  World world;
  world.apply(kWaitsForPaid);
  world.apply(kOneState);
  const InstanceId ended = id_in(world.start("one"));
  const InstanceId live = id_in(world.start("waits"));
  const struct {
    Command command;
    const char* code;
  } rows[] = {
      {CancelInstance{.ns = "default", .instance = ended}, "instance.ended"},
      {CancelInstance{.ns = "nowhere", .instance = live}, "namespace.not_found"},
      {CancelInstance{.ns = "default", .instance = {}}, "instance.not_found"},
      {DeleteInstance{.ns = "default", .instance = live}, "instance.living"},
      {DeleteInstance{.ns = "default", .instance = {}}, "instance.not_found"},
  };
  for (const auto& row : rows) {
    const Answered answered = world.command(row.command);
    world.run_until_idle();
    EXPECT_EQ(answer_code(answered), row.code);
  }
  EXPECT_EQ(world.instance(to_string(live))["status"], "waiting");
}

TEST(Deletion, RemovesAllRowsOfAnInstance) {
  World world;
  world.apply(kOneState);
  const auto before = world.rows();
  const Json started = world.start("one", Json::object(), "key");
  world.must(DeleteInstance{.ns = "default", .instance = id_in(started)});
  for (const auto& [key, value] : world.rows()) {
    EXPECT_TRUE(before.contains(key) || key.starts_with("meta/")) << key;
  }
  EXPECT_EQ(world.start("one", Json::object(), "key")["created"], true);
}

TEST(Deletion, SeesEarlierInputsOfItsOwnBatch) {
  World world;
  world.apply(kWaitsForPaid);
  world.publish("begin", "1");
  world.run_until_idle();
  world.publish("go", "2");
  world.publish("begin", "3");
  world.broker.pump();
  const Answered refused = world.command(DeleteWorkflow{.ns = "default", .id = "waits"});
  const Answered cancelled =
      world.command(DeleteWorkflow{.ns = "default", .id = "waits", .cancel = true});
  const Answered gone = world.command(StartInstance{.ns = "default", .workflow = "waits"});
  world.run_until_idle();
  EXPECT_EQ(answer_code(refused), "workflow.has_instances");
  ASSERT_EQ(answer_code(cancelled), "ok");
  EXPECT_EQ(***cancelled, (Json{{"cancelled", 1}}));
  EXPECT_EQ(answer_code(gone), "workflow.not_found");
}

TEST(Deletion, RemovesTheWorkflowsOfANamespace) {
  World world;
  world.must(CreateNamespace{.name = "a"});
  world.apply(kWaitsForPaid, "a");
  world.apply(kOneState, "a");
  world.must(StartInstance{.ns = "a", .workflow = "waits"});
  const Answered refused = world.command(DeleteNamespace{.name = "a"});
  world.run_until_idle();
  EXPECT_EQ(answer_code(refused), "namespace.not_empty");
  EXPECT_EQ(world.must(DeleteNamespace{.name = "a", .cancel = true}), (Json{{"cancelled", 1}}));
  EXPECT_EQ(world.metric("millrace_listeners"), 0);
  world.restart();
  world.run_until_idle();
  EXPECT_EQ(world.metric("millrace_listeners"), 0);
  EXPECT_EQ(world.must(CreateNamespace{.name = "a"})["created"], true);
  const Answered gone = world.command(StartInstance{.ns = "a", .workflow = "waits"});
  world.run_until_idle();
  EXPECT_EQ(answer_code(gone), "workflow.not_found") << "the new namespace is empty";
}

TEST(Deletion, RemovesTheDelayedEventsOfANamespace) {
  for (const bool restarted : {false, true}) {
    World world;
    world.must(CreateNamespace{.name = "a"});
    world.apply(R"(
id: reminds
states:
- {id: remind, type: generateEvent, delay: PT1H, event: {type: reminder, source: /r}}
)",
                "a");
    world.must(StartInstance{.ns = "a", .workflow = "reminds"});
    EXPECT_EQ(world.metric("millrace_timers"), 1);
    world.must(DeleteNamespace{.name = "a"});
    EXPECT_EQ(world.metric("millrace_timers"), 0);
    if (restarted) world.restart();
    world.run_for(hours(2));
    EXPECT_THAT(world.events("reminder"), IsEmpty());
    EXPECT_THAT(world.dead_letters(), IsEmpty());
  }
}

TEST(Queries, ReadOneInstanceWithoutReadingAllNamespacesOrWorkflows) {
  bool reads_all = false;
  WorldOptions options;
  options.store.fails_read = [&](Table table, std::string_view key) {
    reads_all |= key.empty() && (table == Table::kNamespaces || table == Table::kWorkflows);
    return false;
  };
  World world(options);
  world.apply(kWaitsForPaid);
  const std::string id = world.start("waits")["id"];
  const Answered ended = world.wait_for_end(id, seconds(10));
  reads_all = false;
  EXPECT_EQ(world.instance(id)["workflow"], "waits");
  EXPECT_THAT(world.history(id), SizeIs(testing::Gt(0)));
  world.publish("go", "1");
  world.run_until_idle();
  EXPECT_EQ(answer_code(ended), "ok");
  EXPECT_FALSE(reads_all);
}

TEST(Queries, FindNothingForANameThatIsTooLongForAKeyOfTheStore) {
  World world;
  const Snapshot view = *Snapshot::take(world.environment());
  const std::string name(1'000, 'a');
  EXPECT_EQ(world.queries().workflows(view, name).error().code, "namespace.not_found");
  EXPECT_EQ(world.queries().workflow(view, "default", name).error().code, "workflow.not_found");
}

TEST(StartByCall, CreatesOneInstanceForAnIdempotencyKey) {
  World world;
  world.apply(kOneState);
  const Json input = {{"n", 1}};
  const Json first = world.start("one", input, "key");
  EXPECT_EQ(first["created"], true);
  const Json again{{"id", first["id"]}, {"created", false}};
  EXPECT_EQ(world.start("one", input, "key"), again);
  world.restart();
  EXPECT_EQ(world.start("one", input, "key"), again);

  const Answered other = world.command(StartInstance{
      .ns = "default", .workflow = "one", .input = {{"n", 2}}, .idempotency_key = "key"});
  world.run_until_idle();
  EXPECT_EQ(answer_code(other), "start.conflict");

  EXPECT_EQ(world.start("one", input, "other key")["created"], true);
  EXPECT_EQ(world.start("one", input)["created"], true);
  EXPECT_EQ(world.start("one", input)["created"], true)
      << "without a key each call creates an instance";
  EXPECT_THAT(world.instances(), SizeIs(4));
}

TEST(StartByCall, CreatesOneInstanceForTwoCallsWithOneIdempotencyKeyInABatch) {
  World world;
  world.apply(kOneState);
  const StartInstance start{.ns = "default", .workflow = "one", .idempotency_key = "key"};
  const Answered first = world.command(start);
  const Answered second = world.command(start);
  world.run_until_idle();
  EXPECT_EQ((***first)["created"], true);
  EXPECT_EQ((***second)["created"], false);
  EXPECT_EQ((***first)["id"], (***second)["id"]);
}

TEST(StartByCall, AcceptsAnyJsonAsInput) {
  World world;
  world.apply(kOneState);
  EXPECT_EQ(world.instance(world.start("one", Json{{"a", 1}})["id"])["output"], (Json{{"a", 1}}));
  EXPECT_EQ(world.instance(world.start("one", Json::array({1, 2}))["id"])["output"],
            (Json{{"input", {1, 2}}}));
}

TEST(WaitForEnd, ReturnsTheInstanceWhenItHasEnded) {
  World world;
  world.apply(kWaitsForPaid);
  const Json started = world.start("waits");
  const Answered first = world.wait_for_end(started["id"], seconds(10));
  const Answered second = world.wait_for_end(started["id"], seconds(10));
  world.run_for(seconds(9));
  EXPECT_EQ(answer_code(first), "not answered");
  world.publish("go", "1", 5);
  world.run_until_idle();
  ASSERT_EQ(answer_code(first), "ok");
  EXPECT_EQ((***first)["output"], (Json{{"go", 5}}));
  EXPECT_EQ(***first, world.instance(started["id"]));
  EXPECT_EQ(***second, ***first);

  const Answered late = world.wait_for_end(started["id"], seconds(10));
  world.run_until_idle();
  EXPECT_EQ(***late, ***first) << "the instance had ended before";
}

TEST(WaitForEnd, SeesAnEndInItsOwnBatch) {
  World world;
  world.apply(kWaitsForPaid);
  const Json started = world.start("waits");
  world.publish("go", "1", 5);
  world.broker.pump();
  const Answered answered = world.wait_for_end(started["id"], seconds(10));
  world.run_until_idle();
  EXPECT_EQ(answer_code(answered), "ok");
}

TEST(WaitForEnd, TimesOutForEachCallerSeparately) {
  World world;
  world.apply(kWaitsForPaid);
  std::vector<Answered> waits;
  const Json first = world.start("waits");
  const Json second = world.start("waits");
  for (int i = 1; i <= 5; ++i) {
    waits.push_back(world.wait_for_end((i % 2 == 0 ? first : second)["id"], seconds(10 * i)));
  }
  world.run_for(seconds(25));
  EXPECT_EQ(answer_code(waits[0]), "wait.timeout");
  EXPECT_EQ(answer_code(waits[1]), "wait.timeout");
  for (size_t i = 2; i < 5; ++i) EXPECT_EQ(answer_code(waits[i]), "not answered");
  world.publish("go", "1");
  world.run_until_idle();
  for (size_t i = 2; i < 5; ++i) EXPECT_EQ(answer_code(waits[i]), "ok");
}

TEST(WaitForEnd, TimesOut) {
  World world;
  world.apply(kWaitsForPaid);
  const Json started = world.start("waits");
  const Answered answered = world.wait_for_end(started["id"], seconds(10));
  world.run_for(Duration(9'999));
  EXPECT_EQ(answer_code(answered), "not answered");
  world.run_for(Duration(1));
  EXPECT_EQ(answer_code(answered), "wait.timeout");
}

TEST(WaitForEnd, IgnoresJumpsOfTheWallClock) {
  for (const Duration jump : {Duration(-hours(1)), Duration(hours(1))}) {
    for (const bool before : {false, true}) {
      World world;
      world.apply(kWaitsForPaid);
      const Json started = world.start("waits");
      if (before) world.clock.jump(jump);
      const Answered answered = world.wait_for_end(started["id"], seconds(10));
      world.run_until_idle();
      if (!before) world.clock.jump(jump);
      world.run_for(Duration(9'999));
      EXPECT_EQ(answer_code(answered), "not answered") << jump.count() << before;
      world.run_for(Duration(1));
      EXPECT_EQ(answer_code(answered), "wait.timeout") << jump.count() << before;
    }
  }
}

TEST(WaitForEnd, RefusesAnUnknownInstance) {
  World world;
  const Answered answered = world.wait_for_end("0190b5a4-7c1e-7f2a-8000-0123456789ab", seconds(10));
  world.run_until_idle();
  EXPECT_EQ(answer_code(answered), "instance.not_found");
}

}  // namespace
}  // namespace millrace
