// Commands and waits for an end, through the whole core.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

std::string code(const Answered& answered) {
  if (!answered->has_value()) return "not answered";
  return **answered ? "ok" : (**answered).error().code;
}

TEST(Commands, AreAnsweredOnceTheyAreOnDisk) {
  World world;
  world.apply(kWaitsForPaid);
  const auto before = world.rows();
  const Answered answered = world.command(StartInstance{.space = "default", .workflow = "waits"});
  EXPECT_EQ(code(answered), "not answered");
  world.crash_after_commit();
  EXPECT_EQ(code(answered), "not answered") << "it died before";
  world.recover();
  world.settle();
  EXPECT_EQ(code(answered), "not answered");
  EXPECT_THAT(world.instances(), SizeIs(1)) << "and yet was carried out";

  const Answered lost = world.command(StartInstance{.space = "default", .workflow = "waits"});
  world.restart();
  world.settle();
  EXPECT_EQ(code(lost), "not answered");
  EXPECT_THAT(world.instances(), SizeIs(1));
}

TEST(Commands, AskForWhatThereIs) {
  World world;
  world.apply(kOneState);
  const struct {
    Command command;
    const char* code;
  } rows[] = {
      {World::application(kOneState, "nowhere"), "namespace.not_found"},
      {StartInstance{.space = "nowhere", .workflow = "one"}, "namespace.not_found"},
      {StartInstance{.space = "default", .workflow = "two"}, "workflow.not_found"},
      {DeleteWorkflow{.space = "nowhere", .id = "one"}, "namespace.not_found"},
      {DeleteWorkflow{.space = "default", .id = "two"}, "workflow.not_found"},
      {DeleteNamespace{.name = "nowhere"}, "namespace.not_found"},
      {DeleteNamespace{.name = "default", .cancel = true}, "namespace.not_empty"},
  };
  const auto before = world.rows();
  for (const auto& row : rows) {
    const Answered answered = world.command(row.command);
    world.settle();
    EXPECT_EQ(code(answered), row.code);
  }
  EXPECT_EQ(world.rows(), before) << "a refused command writes nothing";
}

TEST(Namespaces, AreMadeOnce) {
  World world;
  EXPECT_EQ(world.must(CreateNamespace{.name = "a"}), (Json{{"name", "a"}, {"created", true}}));
  EXPECT_EQ(world.must(CreateNamespace{.name = "a"}), (Json{{"name", "a"}, {"created", false}}));
  world.restart();
  EXPECT_EQ(world.must(CreateNamespace{.name = "a"}), (Json{{"name", "a"}, {"created", false}}));
  EXPECT_EQ(world.must(CreateNamespace{.name = "default"})["created"], false);
}

TEST(Revisions, AreMadeOfEachNewText) {
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
  EXPECT_EQ(world.apply(kOneState), answer(3, true)) << "an older text is the newest again";
}

TEST(Revisions, AreForNewInstancesAndTheOldOnesFinishOnTheirOwn) {
  World world;
  world.apply(kWaitsForPaid);
  world.publish("begin", "1");
  world.settle();
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
  world.settle();
  const auto instances = world.instances();
  ASSERT_THAT(instances, SizeIs(2));
  EXPECT_EQ(instances[0]["revision"], 1);
  EXPECT_EQ(instances[0]["state"], "wait");
  EXPECT_EQ(instances[1]["revision"], 2);
  EXPECT_EQ(instances[1]["state"], "otherwise");
  for (const Json& instance : instances) EXPECT_EQ(instance["status"], "complete");
}

TEST(Deletion, OfAWorkflowWithLivingInstancesIsRefusedUnlessTheyMayBeCancelled) {
  World world;
  world.apply(kWaitsForPaid);
  world.publish("begin", "1");
  world.publish("begin", "2");
  world.publish("go", "3");
  world.publish("begin", "4");
  world.settle();
  const Answered refused = world.command(DeleteWorkflow{.space = "default", .id = "waits"});
  world.settle();
  EXPECT_EQ(code(refused), "workflow.has_instances");
  EXPECT_EQ(world.metric("millrace_listeners"), 2);

  EXPECT_EQ(world.must(DeleteWorkflow{.space = "default", .id = "waits", .cancel = true}),
            (Json{{"cancelled", 1}}));
  EXPECT_EQ(world.metric("millrace_listeners"), 0);
  world.restart();
  world.publish("begin", "5");
  world.publish("go", "6");
  world.settle();
  EXPECT_EQ(world.metric("millrace_listeners"), 0);
  const auto instances = world.instances();
  ASSERT_THAT(instances, SizeIs(3)) << "what was there can still be looked at";
  EXPECT_EQ(instances[0]["status"], "complete");
  EXPECT_EQ(instances[2]["status"], "cancelled");
  EXPECT_EQ(instances[2]["workflow"], "waits");
  EXPECT_EQ(instances[2]["error"]["code"], "direktiv.cancels.api");
  EXPECT_THAT(world.history(instances[2]["id"]),
              ElementsAre("started", "entered wait", "cancelled wait", "ended wait"));

  EXPECT_EQ(world.apply(kWaitsForPaid)["revision"], 1) << "another one of the same name";
}

TEST(Deletion, OfManyInstancesLetsOthersThroughMeanwhile) {
  World world;
  world.apply(kWaitsForPaid);
  world.apply(kOneState);
  for (int i = 0; i < 600; ++i) world.publish("begin", fmt::format("{}", i));
  world.settle();
  const Answered deleted =
      world.command(DeleteWorkflow{.space = "default", .id = "waits", .cancel = true});
  world.step();
  EXPECT_EQ(code(deleted), "not answered");
  const Answered other = world.command(StartInstance{.space = "default", .workflow = "one"});
  world.step();
  EXPECT_EQ(code(deleted), "not answered");
  EXPECT_EQ(code(other), "ok");
  world.settle();
  ASSERT_EQ(code(deleted), "ok");
  EXPECT_EQ(***deleted, (Json{{"cancelled", 600}}));
  EXPECT_EQ(world.metric("millrace_listeners"), 0);
}

TEST(Cancel, EndsAnInstanceWhereverItIs) {
  World world;
  world.apply(kWaitsForPaid);
  world.apply("id: thinks\nstates: [{id: think, type: noop, transform: jq(think)}]");
  world.evaluator.define("think", [](const Json& input) -> QueryResult { return input; });
  world.evaluator.hold();
  for (const char* workflow : {"waits", "thinks"}) {
    const Json started = world.start(workflow);
    const InstanceId id = id_in(started);
    EXPECT_EQ(world.must(CancelInstance{.space = "default", .instance = id}),
              (Json{{"id", started["id"]}, {"cancelled", true}}));
    EXPECT_EQ(world.instance(started["id"])["status"], "cancelled");
    EXPECT_EQ(world.instance(started["id"])["error"]["code"], "direktiv.cancels.api");
    const Answered again = world.command(CancelInstance{.space = "default", .instance = id});
    world.settle();
    EXPECT_EQ(code(again), "instance.ended");
    EXPECT_THAT((**again).error().message,
                testing::HasSubstr("has ended already, its status is cancelled: it cannot be "
                                   "cancelled; `restart` runs it again, `delete` removes it"));
  }
  world.evaluator.release();
  world.publish("go", "1");
  world.settle();
  for (const Json& instance : world.instances()) EXPECT_EQ(instance["status"], "cancelled");
}

TEST(Cancel, AndDeletionSayWhatTheyCannotDo) {
  World world;
  world.apply(kWaitsForPaid);
  world.apply(kOneState);
  const InstanceId ended = id_in(world.start("one"));
  const InstanceId living = id_in(world.start("waits"));
  const struct {
    Command command;
    const char* code;
  } rows[] = {
      {CancelInstance{.space = "default", .instance = ended}, "instance.ended"},
      {CancelInstance{.space = "nowhere", .instance = living}, "namespace.not_found"},
      {CancelInstance{.space = "default", .instance = {}}, "instance.not_found"},
      {DeleteInstance{.space = "default", .instance = living}, "instance.living"},
      {DeleteInstance{.space = "default", .instance = {}}, "instance.not_found"},
  };
  for (const auto& row : rows) {
    const Answered answered = world.command(row.command);
    world.settle();
    EXPECT_EQ(code(answered), row.code);
  }
  EXPECT_EQ(world.instance(to_string(living))["status"], "waiting");
}

TEST(Deletion, OfAnInstanceLeavesNothingOfIt) {
  World world;
  world.apply(kOneState);
  const auto before = world.rows();
  const Json started = world.start("one", Json::object(), "key");
  world.must(DeleteInstance{.space = "default", .instance = id_in(started)});
  for (const auto& [key, value] : world.rows()) {
    EXPECT_TRUE(before.contains(key) || key.starts_with("meta/")) << key;
  }
  EXPECT_EQ(world.start("one", Json::object(), "key")["created"], true);
}

TEST(Deletion, SeesWhatItsOwnBatchDidBefore) {
  World world;
  world.apply(kWaitsForPaid);
  world.publish("begin", "1");
  world.settle();
  world.publish("go", "2");
  world.publish("begin", "3");
  world.broker.pump();
  const Answered refused = world.command(DeleteWorkflow{.space = "default", .id = "waits"});
  const Answered cancelled =
      world.command(DeleteWorkflow{.space = "default", .id = "waits", .cancel = true});
  const Answered gone = world.command(StartInstance{.space = "default", .workflow = "waits"});
  world.settle();
  EXPECT_EQ(code(refused), "workflow.has_instances");
  ASSERT_EQ(code(cancelled), "ok");
  EXPECT_EQ(***cancelled, (Json{{"cancelled", 1}}));
  EXPECT_EQ(code(gone), "workflow.not_found");
}

TEST(Deletion, OfANamespaceTakesItsWorkflowsWithIt) {
  World world;
  world.must(CreateNamespace{.name = "a"});
  world.apply(kWaitsForPaid, "a");
  world.apply(kOneState, "a");
  world.must(StartInstance{.space = "a", .workflow = "waits"});
  const Answered refused = world.command(DeleteNamespace{.name = "a"});
  world.settle();
  EXPECT_EQ(code(refused), "namespace.not_empty");
  EXPECT_EQ(world.must(DeleteNamespace{.name = "a", .cancel = true}), (Json{{"cancelled", 1}}));
  EXPECT_EQ(world.metric("millrace_listeners"), 0);
  world.restart();
  world.settle();
  EXPECT_EQ(world.metric("millrace_listeners"), 0);
  EXPECT_EQ(world.must(CreateNamespace{.name = "a"})["created"], true);
  const Answered gone = world.command(StartInstance{.space = "a", .workflow = "waits"});
  world.settle();
  EXPECT_EQ(code(gone), "workflow.not_found") << "the new one is empty";
}

TEST(Deletion, OfANamespaceTakesItsDelayedEventsWithIt) {
  for (const bool restarted : {false, true}) {
    World world;
    world.must(CreateNamespace{.name = "a"});
    world.apply(R"(
id: reminds
states:
- {id: remind, type: generateEvent, delay: PT1H, event: {type: reminder, source: /r}}
)",
                "a");
    world.must(StartInstance{.space = "a", .workflow = "reminds"});
    EXPECT_EQ(world.metric("millrace_timers"), 1);
    world.must(DeleteNamespace{.name = "a"});
    EXPECT_EQ(world.metric("millrace_timers"), 0);
    if (restarted) world.restart();
    world.run_for(hours(2));
    EXPECT_THAT(world.events("reminder"), IsEmpty());
    EXPECT_THAT(world.dead_letters(), IsEmpty());
  }
}

TEST(Queries, OfOneInstanceReadNoOtherNamesThanItsOwn) {
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
  world.settle();
  EXPECT_EQ(code(ended), "ok");
  EXPECT_FALSE(reads_all);
}

TEST(Queries, ByANameThatIsTooLongForAKeyFindNothing) {
  World world;
  const Snapshot view = *Snapshot::take(world.environment());
  const std::string name(1'000, 'a');
  EXPECT_EQ(world.queries().workflows(view, name).error().code, "namespace.not_found");
  EXPECT_EQ(world.queries().workflow(view, "default", name).error().code, "workflow.not_found");
}

TEST(StartByCall, GivesAnInstanceOnceUnderItsKey) {
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
      .space = "default", .workflow = "one", .input = {{"n", 2}}, .idempotency_key = "key"});
  world.settle();
  EXPECT_EQ(code(other), "start.conflict");

  EXPECT_EQ(world.start("one", input, "other key")["created"], true);
  EXPECT_EQ(world.start("one", input)["created"], true);
  EXPECT_EQ(world.start("one", input)["created"], true) << "without a key each is one of its own";
  EXPECT_THAT(world.instances(), SizeIs(4));
}

TEST(StartByCall, GivesOneInstanceToTwoCallsOfOneBatch) {
  World world;
  world.apply(kOneState);
  const StartInstance start{.space = "default", .workflow = "one", .idempotency_key = "key"};
  const Answered first = world.command(start);
  const Answered second = world.command(start);
  world.settle();
  EXPECT_EQ((***first)["created"], true);
  EXPECT_EQ((***second)["created"], false);
  EXPECT_EQ((***first)["id"], (***second)["id"]);
}

TEST(StartByCall, TakesAnyJsonForInput) {
  World world;
  world.apply(kOneState);
  EXPECT_EQ(world.instance(world.start("one", Json{{"a", 1}})["id"])["output"], (Json{{"a", 1}}));
  EXPECT_EQ(world.instance(world.start("one", Json::array({1, 2}))["id"])["output"],
            (Json{{"input", {1, 2}}}));
}

TEST(WaitForEnd, IsAnsweredWithTheInstanceWhenItHasEnded) {
  World world;
  world.apply(kWaitsForPaid);
  const Json started = world.start("waits");
  const Answered first = world.wait_for_end(started["id"], seconds(10));
  const Answered second = world.wait_for_end(started["id"], seconds(10));
  world.run_for(seconds(9));
  EXPECT_EQ(code(first), "not answered");
  world.publish("go", "1", 5);
  world.settle();
  ASSERT_EQ(code(first), "ok");
  EXPECT_EQ((***first)["output"], (Json{{"go", 5}}));
  EXPECT_EQ(***first, world.instance(started["id"]));
  EXPECT_EQ(***second, ***first);

  const Answered late = world.wait_for_end(started["id"], seconds(10));
  world.settle();
  EXPECT_EQ(***late, ***first) << "it had ended before";
}

TEST(WaitForEnd, SeesAnEndInTheBatchThatItCameWith) {
  World world;
  world.apply(kWaitsForPaid);
  const Json started = world.start("waits");
  world.publish("go", "1", 5);
  world.broker.pump();
  const Answered answered = world.wait_for_end(started["id"], seconds(10));
  world.settle();
  EXPECT_EQ(code(answered), "ok");
}

TEST(WaitForEnd, EndsForEachWaiterAtItsOwnTime) {
  World world;
  world.apply(kWaitsForPaid);
  std::vector<Answered> waits;
  const Json first = world.start("waits");
  const Json second = world.start("waits");
  for (int i = 1; i <= 5; ++i) {
    waits.push_back(world.wait_for_end((i % 2 == 0 ? first : second)["id"], seconds(10 * i)));
  }
  world.run_for(seconds(25));
  EXPECT_EQ(code(waits[0]), "wait.timeout");
  EXPECT_EQ(code(waits[1]), "wait.timeout");
  for (size_t i = 2; i < 5; ++i) EXPECT_EQ(code(waits[i]), "not answered");
  world.publish("go", "1");
  world.settle();
  for (size_t i = 2; i < 5; ++i) EXPECT_EQ(code(waits[i]), "ok");
}

TEST(WaitForEnd, RunsOutOfTime) {
  World world;
  world.apply(kWaitsForPaid);
  const Json started = world.start("waits");
  const Answered answered = world.wait_for_end(started["id"], seconds(10));
  world.run_for(Duration(9'999));
  EXPECT_EQ(code(answered), "not answered");
  world.run_for(Duration(1));
  EXPECT_EQ(code(answered), "wait.timeout");
}

TEST(WaitForEnd, CountsItsTimeWhateverIsDoneToTheWallClock) {
  for (const Duration jump : {Duration(-hours(1)), Duration(hours(1))}) {
    for (const bool before : {false, true}) {
      World world;
      world.apply(kWaitsForPaid);
      const Json started = world.start("waits");
      if (before) world.clock.jump(jump);
      const Answered answered = world.wait_for_end(started["id"], seconds(10));
      world.settle();
      if (!before) world.clock.jump(jump);
      world.run_for(Duration(9'999));
      EXPECT_EQ(code(answered), "not answered") << jump.count() << before;
      world.run_for(Duration(1));
      EXPECT_EQ(code(answered), "wait.timeout") << jump.count() << before;
    }
  }
}

TEST(WaitForEnd, KnowsOfNoInstanceThatThereIsNot) {
  World world;
  const Answered answered = world.wait_for_end("0190b5a4-7c1e-7f2a-8000-0123456789ab", seconds(10));
  world.settle();
  EXPECT_EQ(code(answered), "instance.not_found");
}

}  // namespace
}  // namespace millrace
