// WorkApplier: how much of the waiting work one turn applies, and whose work. In these tests each
// look at the clock takes time.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/loop/pressure.h"
#include "tests/unit/loop/engine_fixture.h"

namespace millrace {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kStartsByEvent = R"(
id: by-event
start: {type: event, event: {type: begin}}
states:
- {id: done, type: noop}
)";
constexpr const char* kWaitsForGoTwice = R"(
id: waits-for-go
states:
- {id: wait, type: consumeEvent, event: {type: go}, transition: again}
- {id: again, type: consumeEvent, event: {type: go}}
)";
constexpr const char* kGoesRound = R"(
id: goes-round
states:
- {id: a, type: noop, transition: b}
- {id: b, type: noop, transition: a}
)";

/// Goes round for ever if its data says so, else asks a jq worker.
constexpr const char* kRoundOrCompute = R"(
id: round-or-compute
states:
- id: choose
  type: switch
  conditions: [{condition: jq(.round), transition: a}]
  defaultTransition: compute
- {id: a, type: noop, transition: b}
- {id: b, type: noop, transition: a}
- {id: compute, type: noop, transform: 'jq({a: [.b | limit(1; .[])]})'}
)";
constexpr const char* kWritesMuch = R"(
id: writes-much
states:
- {id: a, type: setter, variables: [{key: v, scope: instance, value: jq(.d)}], transition: b}
- {id: b, type: setter, variables: [{key: v, scope: instance, value: jq(.d)}], transition: a}
)";
constexpr const char* kEndsAtOnce = R"(
id: ends-at-once
states:
- {id: done, type: noop}
)";
constexpr const char* kCallsOne = R"(
id: calls-one
functions:
- {id: f, type: subflow, workflow: ends-at-once}
states:
- {id: call, type: action, action: {function: f}}
)";

constexpr const char* kNaps = R"(
id: naps
states:
- {id: nap, type: delay, duration: PT10S}
)";

constexpr const char* kBeats = R"(
id: beats
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- id: pay
  type: action
  action:
    function: charge
    startToCloseTimeout: 1h
    heartbeatTimeout: 5s
    retries: {maximumAttempts: 1}
)";

class TurnSharesTest : public EngineTest {
 protected:
  void catch_up() { deliver({StreamOpened{.position = engine().batch.cursor()}, CaughtUp{}}); }
  /// Runs a turn with `work`, which afterwards has what the next turn gets.
  void run_turn(Work& work) {
    run(std::exchange(work, {}));
    FollowingTurns next = rig().perform(std::move(outcome.actions));
    work = std::move(rest);
    move_all(next.continues, work.continues);
  }
  /// Starts an instance of kRoundOrCompute that waits for a jq worker; returns what it asks.
  Evaluate start_computing() {
    run(apply_workflow(kRoundOrCompute));
    catch_up();
    start("round-or-compute");
    Work work;
    work.continues = continues();
    run(std::move(work));
    const std::vector<Evaluate> asked = actions_of<Evaluate>(outcome);
    EXPECT_THAT(asked, SizeIs(1));
    return asked.at(0);
  }
  static EvaluatedInput result_of(const Evaluate& asked, WorkflowNumber workflow) {
    return {.ns = asked.ns,
            .instance = asked.instance,
            .step = asked.step,
            .results = {{QueryResult(Json{{"a", 1}})}},
            .workflow = workflow};
  }
  /// Runs turns until no work is left; returns their number.
  int run_all(Work work) {
    int turns = 0;
    do {
      run_turn(work);
      ++turns;
    } while (!work.empty() || backlog.has_steps);
    return turns;
  }
  std::vector<ContinueInput> continues() const { return actions_of<ContinueInput>(outcome); }
};

TEST_F(TurnSharesTest, LeavesEventsToTheNextTurnInTheirOrder) {
  run(apply_workflow(kStartsByEvent));
  catch_up();
  clock.let_looks_take(Duration(1));
  Work work;
  for (int i = 0; i < 20; ++i) work.deliveries.emplace_back(event("begin"));
  run(std::move(work));
  const uint64_t first = engine().batch.cursor().sequence;
  EXPECT_GE(first, 1U);
  EXPECT_LT(first, 20U);
  ASSERT_THAT(rest.deliveries, SizeIs(20 - first));
  EXPECT_EQ(std::get<EventInput>(rest.deliveries.front()).sequence, first + 1);
  run_all(std::move(rest));
  EXPECT_EQ(engine().batch.cursor().sequence, 20U);
  EXPECT_EQ(rows_of(Table::kEnded) > 0, true);
}

TEST_F(TurnSharesTest, AppliesAnInputOfEachKindHoweverLongItTakes) {
  restart({.limits = {.transitions_per_step = 1}});
  run(apply_workflow(kStartsByEvent));
  run(apply_workflow(kGoesRound));
  catch_up();
  start("goes-round");
  Work work;
  work.continues = continues();
  ASSERT_THAT(work.continues, SizeIs(1));
  work.deliveries.emplace_back(event("begin"));
  work.deliveries.emplace_back(event("begin"));
  work.commands.push_back(command(start_instance("by-event")));
  work.commands.push_back(command(start_instance("by-event")));
  clock.let_looks_take(std::chrono::seconds(1));
  run(std::move(work));
  EXPECT_THAT(rest.deliveries, SizeIs(1));
  EXPECT_THAT(rest.commands, SizeIs(1));
  EXPECT_THAT(rest.continues, IsEmpty());
}

TEST_F(TurnSharesTest, GivesEachNamespaceATurn) {
  restart({.limits = {.transitions_per_step = 1}});
  run(CreateNamespace{.name = "shop"});
  run(apply_workflow(kGoesRound));
  run(ApplyWorkflow{.ns = "shop", .text = kGoesRound, .workflow = *load_stored(kGoesRound)});
  catch_up();
  run(start_instance("goes-round"));
  const std::vector<ContinueInput> greedy = continues();
  run(StartInstance{.ns = "shop", .workflow = "goes-round", .input = Json::object()});
  const std::vector<ContinueInput> other = continues();
  ASSERT_THAT(greedy, SizeIs(1));
  ASSERT_THAT(other, SizeIs(1));
  Work work;
  work.continues.assign(50, greedy.front());
  work.continues.push_back(other.front());
  clock.let_looks_take(std::chrono::microseconds(400));
  run(std::move(work));
  EXPECT_FALSE(rest.continues.empty());
  for (const ContinueInput& one : rest.continues) EXPECT_EQ(one.ns, greedy.front().ns);
}

TEST_F(TurnSharesTest, AppliesCommandsOfEachNamespaceInTheirOrder) {
  run(CreateNamespace{.name = "shop"});
  run(apply_workflow(kEndsAtOnce));
  run(ApplyWorkflow{.ns = "shop", .text = kEndsAtOnce, .workflow = *load_stored(kEndsAtOnce)});
  catch_up();
  Work work;
  for (int i = 0; i < 50; ++i) work.commands.push_back(command(start_instance("ends-at-once")));
  work.commands.push_back(
      command(StartInstance{.ns = "shop", .workflow = "ends-at-once", .input = Json::object()}));
  const uint64_t last = requests;
  clock.let_looks_take(std::chrono::microseconds(200));
  run(std::move(work));
  std::vector<uint64_t> answered;
  for (const Answer& answer : actions_of<Answer>(outcome)) {
    EXPECT_TRUE(answer.result);
    answered.push_back(answer.request);
  }
  EXPECT_THAT(answered, testing::Contains(last)) << "the command of the other namespace";
  std::erase(answered, last);
  EXPECT_TRUE(std::is_sorted(answered.begin(), answered.end()));
  ASSERT_FALSE(answered.empty() || rest.commands.empty());
  EXPECT_EQ(answered.size() + rest.commands.size(), 50U);
  for (const CommandInput& one : rest.commands) EXPECT_EQ(one.request, ++answered.back());
}

TEST_F(TurnSharesTest, LeavesAPartOfATurnToEachKindOfInput) {
  run(apply_workflow(kEndsAtOnce));
  catch_up();
  Work work;
  for (int i = 0; i < 100; ++i) {
    work.deliveries.emplace_back(event("other"));
    work.commands.push_back(command(start_instance("ends-at-once")));
    work.tasks.push_back({{.task = numbered_id(200), .what = TaskHeartbeat()}});
  }
  clock.let_looks_take(std::chrono::microseconds(50));
  run(std::move(work));
  EXPECT_LT(rest.deliveries.size(), 60U);
  EXPECT_LT(rest.commands.size(), 98U);
  EXPECT_LT(rest.tasks.size(), 98U);
}

TEST_F(TurnSharesTest, EndsEarlierWorkAfterItsShareIfInputsWait) {
  restart({.limits = {.transitions_per_step = 1}});
  run(apply_workflow(kGoesRound));
  catch_up();
  start("goes-round");
  const std::vector<ContinueInput> many(200, continues().front());
  clock.let_looks_take(std::chrono::microseconds(100));
  const auto continued = [&](std::vector<Delivery> deliveries) {
    run(Work());  // so that the work has not used its share in the turn before
    Work work;
    work.continues = many;
    work.deliveries = std::move(deliveries);
    run(std::move(work));
    return many.size() - rest.continues.size();
  };
  const size_t alone = continued({});
  EXPECT_LT(alone, many.size());
  const size_t beside = continued({event("other")});
  EXPECT_GT(beside, 0U);
  EXPECT_GT(alone, 2 * beside) << "the event waits for the commit of its turn";
  ASSERT_TRUE(rig().intake.deliver({event("other")}));
  EXPECT_EQ(continued({}), beside) << "the event waits for the next turn";
}

TEST_F(TurnSharesTest, AppliesEventsAlthoughManyTimersAreDue) {
  run(apply_workflow(kNaps));
  catch_up();
  for (int i = 0; i < 100; ++i) start("naps");
  clock.advance(std::chrono::seconds(10));
  clock.let_looks_take(std::chrono::microseconds(100));
  Work work;
  for (int i = 0; i < 10; ++i) work.deliveries.emplace_back(event("other"));
  run(std::move(work));
  EXPECT_THAT(rest.deliveries, IsEmpty());
  EXPECT_TRUE(rig().applier.has_timers_left());
  const uint64_t beside = outcome.counts.timers_fired;
  EXPECT_GT(beside, 0U);
  EXPECT_LT(beside, 30U);
  run(Work());
  EXPECT_GT(outcome.counts.timers_fired, beside) << "no input waits";
}

TEST_F(TurnSharesTest, DoesFewerPortionsOfADeletionIfInputsWait) {
  run(CreateNamespace{.name = "shop"});
  for (int i = 0; i < 200; ++i) {
    run(PutVariable{
        .place = {.ns = "shop"}, .key = fmt::format("k{}", i), .value = {.bytes = "1"}});
  }
  catch_up();
  run(DeleteNamespace{.name = "shop"});
  ASSERT_TRUE(backlog.has_purges);
  clock.let_looks_take(std::chrono::microseconds(100));
  Work work;
  work.deliveries.emplace_back(event("other"));
  run(std::move(work));
  const uint64_t beside = outcome.counts.rows_purged;
  EXPECT_GT(beside, 0U);
  run(Work());
  EXPECT_GT(outcome.counts.rows_purged, beside);
  EXPECT_TRUE(backlog.has_purges);
}

TEST_F(TurnSharesTest, AppliesAResultAlthoughOtherInstancesOfItsWorkflowGoOnWithoutEnd) {
  restart({.limits = {.transitions_per_step = 1}});
  const Evaluate asked = start_computing();
  Work work;
  for (int i = 0; i < 10; ++i) {
    run(start_instance("round-or-compute", {{"round", true}}));
    ASSERT_THAT(continues(), SizeIs(1));
    work.continues.push_back(continues().front());
  }
  work.evaluated.push_back(result_of(asked, work.continues.front().workflow));
  clock.let_looks_take(std::chrono::seconds(1));
  for (int turns = 0; turns < 12 && !work.evaluated.empty(); ++turns) {
    run_turn(work);
  }
  EXPECT_THAT(work.evaluated, IsEmpty());
  EXPECT_EQ(status_of(asked.instance), "complete");
}

TEST_F(TurnSharesTest, AppliesAResultInItsFirstTurnIfItsNamespaceHasUsedLittle) {
  constexpr int kBusy = 40;
  restart({.limits = {.transitions_per_step = 1}});
  const Evaluate asked = start_computing();
  Work work;
  for (int i = 0; i < kBusy; ++i) {
    const std::string ns = fmt::format("busy-{}", i);
    run(CreateNamespace{.name = ns});
    run(ApplyWorkflow{.ns = ns, .text = kGoesRound, .workflow = *load_stored(kGoesRound)});
    run(StartInstance{.ns = ns, .workflow = "goes-round", .input = Json::object()});
    ASSERT_THAT(continues(), SizeIs(1));
    work.continues.push_back(continues().front());
  }
  clock.let_looks_take(std::chrono::microseconds(100));
  for (int turns = 0; turns < 100; ++turns) run_turn(work);
  ASSERT_THAT(work.continues, SizeIs(kBusy)) << "each of them continues without end";
  const auto* const entry = engine().catalog.find_workflow(default_ns(), "round-or-compute");
  ASSERT_NE(entry, nullptr);
  work.evaluated.push_back(result_of(asked, entry->number));
  run_turn(work);
  EXPECT_THAT(work.evaluated, IsEmpty());
  EXPECT_EQ(status_of(asked.instance), "complete");
}

TEST_F(TurnSharesTest, LetsNoOtherWorkWaitForTheRateOfALaneThatWritesMuch) {
  restart({.batch = {.messages = 1}, .limits = {.transitions_per_step = 1}});
  for (const char* const text : {kWritesMuch, kEndsAtOnce, kCallsOne}) run(apply_workflow(text));
  catch_up();
  run(start_instance("writes-much", {{"d", std::string(60'000, 'x')}}));
  ASSERT_THAT(continues(), SizeIs(1));
  const std::vector<ContinueInput> heavy(40, continues().front());
  const auto write = [&] {
    TurnState state = turn();
    state.checkpoint_rate = 1;
    Work work;
    work.continues = heavy;
    run(std::move(work), state);
  };
  write();
  for (int i = 0; i < 2; ++i) start("calls-one");
  ASSERT_TRUE(backlog.has_steps) << "the batch has processed one instance message";
  write();
  EXPECT_FALSE(rest.continues.empty());
  EXPECT_TRUE(backlog.has_steps);
  EXPECT_EQ(rig().applier.waits_until(), std::nullopt) << "an instance message is left";
  write();
  EXPECT_FALSE(backlog.has_steps);
  EXPECT_FALSE(rest.continues.empty());
  EXPECT_NE(rig().applier.waits_until(), std::nullopt);
}

TEST_F(TurnSharesTest, LetsLanesThatWriteMuchWaitWhileTooManyMessagesWait) {
  restart({.limits = {.transitions_per_step = 1}});
  run(apply_workflow(kWritesMuch));
  catch_up();
  run(start_instance("writes-much", {{"d", std::string(60'000, 'x')}}));
  ASSERT_THAT(continues(), SizeIs(1));
  const std::vector<ContinueInput> heavy(20, continues().front());
  for (int i = 0; i < 2; ++i) {
    TurnState state = turn();
    state.heavy_rate = Pressure::kRateWhileMessagesWait;
    Work work;
    work.continues = heavy;
    run(std::move(work), state);
  }
  EXPECT_FALSE(rest.continues.empty());
  EXPECT_NE(rig().applier.waits_until(), std::nullopt);
}

TEST_F(TurnSharesTest, AppliesOneMissedHeartbeatInATurnThatIsUsed) {
  run(apply_workflow(kBeats));
  catch_up();
  std::vector<InstanceId> ids;
  Work work;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(start("beats"));
    for (const InstanceId& task : engine().tasks.of(ids.back())) {
      work.tasks.push_back({{.task = task, .what = TaskStarted()}});
    }
  }
  run(std::move(work));
  clock.advance(std::chrono::seconds(5));
  clock.let_looks_take(std::chrono::seconds(1));
  for (ptrdiff_t failed = 1; failed <= 4; ++failed) {
    run(Work());
    EXPECT_EQ(std::count_if(ids.begin(), ids.end(),
                            [&](const InstanceId& id) { return status_of(id) == "failed"; }),
              failed);
  }
}

TEST_F(TurnSharesTest, EndsAStepWhenItsUnitIsUsed) {
  run(apply_workflow(kGoesRound));
  catch_up();
  clock.let_looks_take(Duration(1));
  run(start_instance("goes-round"));
  EXPECT_THAT(continues(), SizeIs(1));
  const auto instance = read_instance(engine().tx, default_ns(), numbered_id(last_id));
  ASSERT_TRUE(instance && *instance);
  EXPECT_GE((*instance)->transitions, 1U);
  EXPECT_LT((*instance)->transitions, 10U);
}

TEST_F(TurnSharesTest, GivesAnEventToTheInstancesThatItsUnitDidNotReachLater) {
  run(apply_workflow(kWaitsForGoTwice));
  std::vector<InstanceId> waiting;
  for (int i = 0; i < 40; ++i) waiting.push_back(start("waits-for-go"));
  catch_up();
  clock.let_looks_take(std::chrono::microseconds(300));
  Work work;
  work.deliveries.emplace_back(event("go"));
  run(std::move(work));
  EXPECT_TRUE(backlog.has_steps);
  EXPECT_GT(backlog.fan_out, 0U);
  EXPECT_LT(backlog.fan_out, 40U);
  run_all(std::move(rest));
  for (const InstanceId& id : waiting) EXPECT_EQ(status_of(id), "waiting") << "one event, one wake";
  Work second;
  second.deliveries.emplace_back(event("go"));
  EXPECT_GT(run_all(std::move(second)), 1);
  for (const InstanceId& id : waiting) EXPECT_EQ(status_of(id), "complete");
}

}  // namespace
}  // namespace millrace
