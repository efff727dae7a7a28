// WorkApplier: work that can wait for a later turn (earlier work, timers, purges, the retention)
// beside inputs. In these tests each look at the clock takes time.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/loop/engine_fixture.h"

namespace millrace {
namespace {

using testing::IsEmpty;

constexpr const char* kGoesOn = R"(
id: goes-on
states:
- {id: a, type: noop, transition: b}
- {id: b, type: noop, transition: a}
)";
constexpr const char* kWaitsTogether = R"(
id: waits-together
states:
- {id: wait, type: delay, duration: PT10S}
)";

constexpr const char* kDoneNow = "id: ends\nstates:\n- {id: a, type: noop}\n";

class OtherWorkTest : public EngineTest {
 protected:
  void catch_up() { deliver({StreamOpened{.position = engine().batch.cursor()}, CaughtUp{}}); }
  std::vector<ContinueInput> continues() const { return actions_of<ContinueInput>(outcome); }
  /// Makes a namespace with so many rows that a purge of them takes many portions.
  void fill_namespace(const std::string& name) {
    run(CreateNamespace{.name = name});
    for (int i = 0; i < 200; ++i) {
      run(PutVariable{
          .place = {.ns = name}, .key = fmt::format("k{}", i), .value = {.bytes = "1"}});
    }
  }
};

TEST_F(OtherWorkTest, LetsOtherWorkRestInEverySecondTurnThatHasInputs) {
  restart({.limits = {.transitions_per_step = 1}});
  run(apply_workflow(kGoesOn));
  catch_up();
  start("goes-on");
  const std::vector<ContinueInput> many(200, continues().front());
  clock.let_looks_take(std::chrono::microseconds(100));
  for (int i = 0; i < 4; ++i) {
    SCOPED_TRACE(i);
    const bool rests = i % 2 == 1;
    Work work;
    work.continues = many;
    work.deliveries.emplace_back(event("other"));
    run(std::move(work));
    EXPECT_THAT(rest.deliveries, IsEmpty());
    EXPECT_EQ(rest.continues.size() == many.size(), rests);
  }
  Work work;
  work.continues = many;
  run(std::move(work));
  EXPECT_LT(rest.continues.size(), many.size()) << "no input waits";
}

TEST_F(OtherWorkTest, DoesOneKindOfOtherWorkInEachTurnThatHasInputs) {
  restart({.limits = {.transitions_per_step = 1}});
  fill_namespace("shop");
  run(apply_workflow(kGoesOn));
  run(apply_workflow(kWaitsTogether));
  catch_up();
  for (int i = 0; i < 100; ++i) start("waits-together");
  start("goes-on");
  const std::vector<ContinueInput> many(200, continues().front());
  run(DeleteNamespace{.name = "shop"});
  ASSERT_TRUE(backlog.has_purges);
  clock.advance(std::chrono::seconds(10));
  clock.let_looks_take(std::chrono::microseconds(100));
  const auto run_turn = [&] {
    Work work;
    work.continues = many;
    work.deliveries.emplace_back(event("other"));
    run(std::move(work));
    EXPECT_THAT(rest.deliveries, IsEmpty());
  };
  run_turn();
  ASSERT_TRUE(rig().applier.has_timers_left());
  // The kinds of work in each turn; one timer fires in every turn.
  std::vector<std::string> done;
  for (int i = 0; i < 6; ++i) {
    run_turn();
    std::string kinds;
    if (rest.continues.size() < many.size()) kinds += "earlier work,";
    if (outcome.counts.timers_fired > 1) kinds += "timers,";
    if (outcome.counts.rows_purged > 0) kinds += "purges,";
    done.push_back(kinds);
  }
  std::vector<std::string> sorted = done;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_THAT(sorted, testing::ElementsAre("earlier work,", "earlier work,", "purges,", "purges,",
                                           "timers,", "timers,"));
  for (size_t i = 3; i < done.size(); ++i) EXPECT_EQ(done[i], done[i - 3]) << "in turns";
}

TEST_F(OtherWorkTest, LetsOtherWorkRestInMostTurnsWhileTheStoreIsBehind) {
  restart({.limits = {.transitions_per_step = 1}});
  fill_namespace("shop");
  run(apply_workflow(kGoesOn));
  catch_up();
  start("goes-on");
  const std::vector<ContinueInput> many(200, continues().front());
  run(DeleteNamespace{.name = "shop"});
  ASSERT_TRUE(backlog.has_purges);
  clock.let_looks_take(std::chrono::microseconds(100));
  // Runs a turn, and returns the kinds of other work that it has done.
  const auto run_turn = [&](bool is_behind, bool has_input = true) {
    TurnState state = turn();
    state.store_is_behind = is_behind;
    Work work;
    work.continues = many;
    if (has_input) work.deliveries.emplace_back(event("other"));
    run(std::move(work), state);
    EXPECT_THAT(rest.deliveries, IsEmpty());
    std::string kinds;
    if (rest.continues.size() < many.size()) kinds += "earlier work,";
    if (outcome.counts.rows_purged > 0) kinds += "purges,";
    return kinds;
  };
  EXPECT_EQ(run_turn(false), "earlier work,");
  EXPECT_EQ(rig().applier.rest(), Duration(0));
  std::vector<std::string> done;
  for (int turns = 1; turns <= 24; ++turns) {
    SCOPED_TRACE(turns);
    const std::string kinds = run_turn(true, turns % 2 == 0);
    if (turns % 8 == 0) {
      done.push_back(kinds);
    } else {
      EXPECT_EQ(kinds, "");
    }
    EXPECT_EQ(rig().applier.rest(), turns % 8 == 0 ? Duration(0) : Duration(2));
  }
  EXPECT_THAT(done, testing::ElementsAre("purges,", "earlier work,", "purges,")) << "in turns";
  EXPECT_EQ(run_turn(false), "earlier work,") << "the store has caught up";
}

TEST_F(OtherWorkTest, BeginsAPassOfTheRetentionAlsoIfTwoOtherKindsWaitAllTheTime) {
  restart({.limits = {.transitions_per_step = 1}});
  fill_namespace("shop");
  run(CreateNamespace{.name = "default",
                      .settings = Json::parse(R"({"retention": {"ended": {"age": "1h"}}})")});
  run(apply_workflow(kGoesOn));
  catch_up();
  start("goes-on");
  const std::vector<ContinueInput> many(200, continues().front());
  run(DeleteNamespace{.name = "shop"});
  ASSERT_FALSE(backlog.retention.has_steps) << "the first pass has ended";
  ASSERT_TRUE(backlog.retention.next_pass);
  clock.advance(std::chrono::minutes(1));
  clock.let_looks_take(std::chrono::microseconds(100));
  bool has_started = false;
  for (int turns = 0; turns < 3 && !has_started; ++turns) {
    Work work;
    work.continues = many;
    work.deliveries.emplace_back(event("other"));
    run(std::move(work));
    ASSERT_TRUE(backlog.has_purges);
    has_started = backlog.retention.is_running || outcome.pass_end.has_value();
  }
  EXPECT_TRUE(has_started);
}

TEST_F(OtherWorkTest, DeletesArchivedInstancesInTheTurnsOfThePurges) {
  restart({.limits = {.transitions_per_step = 1}});
  run(CreateNamespace{
      .name = "default",
      .settings = Json::parse(R"({"retention": {"ended": {"age": "1h"}, "archive": true}})")});
  run(apply_workflow(kGoesOn));
  run(apply_workflow(kDoneNow));
  catch_up();
  for (int i = 0; i < 100; ++i) start("ends");
  start("goes-on");
  const std::vector<ContinueInput> many(200, continues().front());
  clock.advance(std::chrono::hours(2));
  run(Work());
  const std::vector<ArchivePage> pages = actions_of<ArchivePage>(outcome);
  ASSERT_EQ(pages.size(), 1U);
  const size_t archived = pages.front().entries.size();
  ASSERT_GT(archived, 50U);
  clock.let_looks_take(std::chrono::microseconds(100));
  uint64_t deleted = 0;
  for (int turns = 0; turns < 4; ++turns) {
    SCOPED_TRACE(turns);
    Work work;
    work.continues = many;
    work.deliveries.emplace_back(event("other"));
    if (turns == 0) {
      work.archived.push_back(
          {.number = pages.front().number,
           .lengths = std::vector<std::optional<uint64_t>>(archived, uint64_t{10})});
    }
    run(std::move(work));
    const bool does_earlier_work = rest.continues.size() < many.size();
    EXPECT_NE(does_earlier_work, outcome.counts.instances_archived > 0);
    deleted += outcome.counts.instances_archived;
  }
  EXPECT_GT(deleted, 0U);
  EXPECT_TRUE(backlog.has_archived) << "a page is deleted in many portions";
  clock.let_looks_take(std::chrono::microseconds(0));
  for (int turns = 0; turns < 10 && backlog.has_archived; ++turns) {
    run(Work());
    deleted += outcome.counts.instances_archived;
  }
  EXPECT_EQ(deleted, archived);
  EXPECT_TRUE(backlog.retention.has_steps) << "the pass has waited for the page";
}

TEST_F(OtherWorkTest, LetsAnInputThatComesMeanwhileWaitForOneKindOfOtherWorkOnly) {
  restart({.limits = {.transitions_per_step = 1}});
  fill_namespace("shop");
  run(apply_workflow(kGoesOn));
  catch_up();
  start("goes-on");
  const std::vector<ContinueInput> many(200, continues().front());
  run(DeleteNamespace{.name = "shop"});
  clock.let_looks_take(std::chrono::microseconds(100));
  const auto purged = [&] {
    Work work;
    work.continues = many;
    run(std::move(work));
    EXPECT_LT(rest.continues.size(), many.size());
    return outcome.counts.rows_purged;
  };
  EXPECT_GT(purged(), 0U);
  ASSERT_TRUE(rig().intake.deliver({event("other")}));
  EXPECT_EQ(purged(), 0U);
  EXPECT_TRUE(backlog.has_purges);
}

}  // namespace
}  // namespace millrace
