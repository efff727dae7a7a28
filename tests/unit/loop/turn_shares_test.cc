// WorkApplier: how much of the waiting work one turn applies, and whose work. In these tests each
// look at the clock takes time.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
constexpr const char* kWaitsForGo = R"(
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

class TurnSharesTest : public EngineTest {
 protected:
  void catch_up() { deliver({StreamOpened{.position = engine().batch.cursor()}, CaughtUp{}}); }
  /// Runs turns until no work is left; returns their number.
  int run_all(Work work) {
    int turns = 0;
    do {
      run(std::exchange(work, {}));
      FollowingTurns next = rig().perform(std::move(outcome.actions));
      work = std::move(rest);
      move_all(next.continues, work.continues);
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
  run(apply_workflow(kWaitsForGo));
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
