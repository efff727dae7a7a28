// The nodes of a cluster: what a standby has, and what follows when an active dies, pauses or
// learns late that it is deposed.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/answer_code.h"
#include "tests/simulation/cluster_world.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kAnnounces = R"(
id: announces
start: {type: event, event: {type: asked}}
states:
- {id: say, type: generateEvent, event: {type: announced, source: /a, data: 'jq({n: .asked.n})'}, transition: wait}
- {id: wait, type: delay, duration: PT1M, transition: say-more}
- {id: say-more, type: generateEvent, event: {type: finished, source: /a, data: 'jq({n: .asked.n})'}}
)";

constexpr const char* kOnCall = R"(
id: on-call
states:
- {id: say, type: generateEvent, event: {type: called, source: /c}}
)";

class Cluster : public testing::Test {
 protected:
  /// The first node is the active, and has the workflows.
  void begin(const std::vector<Duration>& offsets) {
    world_.emplace(offsets);
    ASSERT_TRUE(node(0).take_over());
    for (const char* const text : {kAnnounces, kOnCall}) {
      const Answered answered = node(0).command(World::application(text));
      node(0).run_until_idle();
      ASSERT_EQ(answer_code(answered), "ok");
    }
  }

  ClusterWorld& world() { return *world_; }
  WorldNode& node(size_t index) { return world_->node(index); }
  void ask(int number) {
    world().publish("asked", fmt::format("asked-{}", number), Json{{"n", number}});
  }
  size_t published(std::string_view type) { return events_in(world().broker, type).size(); }
  std::vector<std::string> statuses(size_t index) {
    std::vector<std::string> found;
    const Json instances = node(index).stage().instances().value();
    for (const Json& one : instances) {
      found.push_back(one["status"]);
    }
    return found;
  }
  /// All other nodes follow the log; then all have the same rows.
  void expect_equal_rows() {
    for (size_t i = 0; i < world().size(); ++i) {
      if (node(i).is_standby()) node(i).follow();
      EXPECT_EQ(node(i).position(), world().log.last_commit());
      node(i).expect_rows_of_log();
      EXPECT_EQ(node(i).rows(), node(0).rows());
    }
    world().expect_sound_log();
  }

 private:
  std::optional<ClusterWorld> world_;
};

TEST_F(Cluster, HasTheRowsOfTheActiveOnEachStandby) {
  begin({Duration(0), Duration(0), Duration(0)});
  for (int i = 0; i < 5; ++i) {
    ask(i);
    node(0).run_until_idle();
    node(1).follow(2);
    node(1).expect_rows_of_log();
    node(2).follow();
    node(2).expect_rows_of_log();
  }
  world().run_for(node(0), minutes(2));
  expect_equal_rows();
}

TEST_F(Cluster, ContinuesOnTheStandbyWhenTheActiveDies) {
  begin({Duration(0), Duration(0)});
  ask(1);
  node(0).run_until_idle();
  EXPECT_EQ(published("announced"), 1U);
  ask(2);
  node(0).crash();

  node(1).follow();
  ASSERT_TRUE(node(1).take_over());
  node(1).run_until_idle();
  EXPECT_EQ(published("announced"), 2U) << "the event that the first active had not read";
  world().run_for(node(1), minutes(2));
  EXPECT_EQ(published("announced"), 2U);
  EXPECT_EQ(published("finished"), 2U) << "the timers of the first active fire";
  EXPECT_THAT(statuses(1), testing::AllOf(SizeIs(2), Each("complete")));
  node(0).recover();
  expect_equal_rows();
}

TEST_F(Cluster, RefusesToTakeOverWithLessThanTheLog) {
  begin({Duration(0), Duration(0)});
  node(1).follow(1);
  EXPECT_FALSE(node(1).take_over());
  node(1).follow();
  ask(1);
  node(0).run_until_idle();
  EXPECT_FALSE(node(1).take_over()) << "the active has committed since";
  EXPECT_TRUE(node(0).is_active());
  node(1).follow();
  EXPECT_TRUE(node(1).take_over());
}

TEST_F(Cluster, PerformsTheEffectsOfACommitThatOnlyTheLogHas) {
  begin({Duration(0), Duration(0)});
  world().log.decide_fates([] { return AppendFate{.is_acked = false}; });
  const Answered answered = node(0).start("on-call", Json::object());
  node(0).run_until_idle();
  EXPECT_THAT(node(0).ends, ElementsAre(testing::Pair("log.closed", 1)));
  EXPECT_EQ(answer_code(answered), "log.closed");
  EXPECT_EQ(published("called"), 0U);

  world().log.decide_fates({});
  node(1).follow();
  ASSERT_TRUE(node(1).take_over());
  node(1).run_until_idle();
  EXPECT_EQ(published("called"), 1U);
  expect_equal_rows();
}

TEST_F(Cluster, HasNothingOfABatchWhoseActiveDiesBeforeTheLogHasIt) {
  begin({Duration(0), Duration(0)});
  world().log.decide_fates([] { return AppendFate{.is_stored = false}; });
  ask(1);
  node(0).run_until_idle();
  EXPECT_THAT(node(0).ends, ElementsAre(testing::Pair("log.closed", 1)));
  EXPECT_EQ(published("announced"), 0U);
  world().log.decide_fates({});
  node(0).follow();
  ASSERT_TRUE(node(0).take_over());
  node(0).run_until_idle();
  EXPECT_EQ(published("announced"), 1U) << "the event is read again";
  EXPECT_THAT(statuses(0), SizeIs(1));
  expect_equal_rows();
}

TEST_F(Cluster, GivesTheEffectsOfADeadActiveToTheNextOne) {
  begin({Duration(0), Duration(0)});
  const Answered answered = node(0).start("on-call", Json::object());
  node(0).crash_after_commit();
  EXPECT_EQ(answer_code(answered), "not answered");
  node(1).follow();
  ASSERT_TRUE(node(1).take_over());
  node(1).run_until_idle();
  EXPECT_EQ(published("called"), 1U);
  node(0).recover();
  expect_equal_rows();
}

TEST_F(Cluster, DeposesAPausedActiveWhichHasNoEffectOfItsBatch) {
  begin({Duration(0), Duration(0)});
  const Answered first = node(0).start("on-call", Json::object(), "key");  // it waits in the intake
  node(1).follow();
  ASSERT_TRUE(node(1).take_over());
  const Answered second = node(1).start("on-call", Json::object(), "key");
  node(1).run_until_idle();
  EXPECT_EQ(answer_code(second), "ok");
  EXPECT_EQ(published("called"), 1U);

  node(0).run_until_idle();
  EXPECT_EQ(answer_code(first), "log.deposed");
  EXPECT_THAT(node(0).ends, ElementsAre(testing::Pair("log.deposed", 1)));
  EXPECT_TRUE(node(0).is_standby());
  node(1).run_until_idle();
  EXPECT_EQ(published("called"), 1U);
  EXPECT_THAT(statuses(1), SizeIs(1));
  expect_equal_rows();
}

TEST_F(Cluster, PublishesOnceWhatTwoActivesSendOfOneCommit) {
  begin({Duration(0), Duration(0)});
  // The acknowledgement comes when the other node has taken over behind the commit.
  world().log.decide_fates([this] {
    return AppendFate{.meanwhile = [this] {
      world().log.decide_fates({});
      node(1).follow();
      EXPECT_TRUE(node(1).take_over());
    }};
  });
  const Answered answered = node(0).start("on-call", Json::object());
  node(0).turn();
  EXPECT_EQ(answer_code(answered), "ok");
  EXPECT_TRUE(node(0).is_active());
  EXPECT_TRUE(node(1).is_active());
  node(1).run_until_idle();
  EXPECT_EQ(published("called"), 1U) << "both have sent it under one id";
  node(0).start("on-call", Json::object());
  node(0).run_until_idle();
  EXPECT_THAT(node(0).ends, ElementsAre(testing::Pair("log.deposed", 1)));
  expect_equal_rows();
}

TEST_F(Cluster, StopsANodeThatHasMoreThanTheLogInsteadOfTwoHistories) {
  begin({Duration(0), Duration(0)});
  node(1).follow();
  const uint64_t kept = world().log.last_sequence();
  node(0).start("on-call", Json::object());
  node(0).run_until_idle();
  world().log.lose_tail(world().log.last_sequence() - kept);
  const Answered answered = node(0).start("on-call", Json::object());
  node(0).run_until_idle();
  EXPECT_EQ(answer_code(answered), "log.lost");
  EXPECT_THAT(node(0).ends, ElementsAre(testing::Pair("log.lost", 1)));
  EXPECT_EQ(node(0).try_follow().error().code, "log.lost");
  EXPECT_FALSE(node(0).take_over());

  // The other node continues without the lost commits, and the node that has them stops.
  const RowsByKey rows = node(0).rows();
  node(1).follow();
  ASSERT_TRUE(node(1).take_over());
  while (world().log.last_sequence() < node(0).position().sequence) {
    const Answered further = node(1).start("on-call", Json::object());
    node(1).run_until_idle();
    ASSERT_EQ(answer_code(further), "ok");
  }
  EXPECT_EQ(node(0).try_follow().error().code, "log.diverged");
  EXPECT_EQ(node(0).rows(), rows);
  world().expect_sound_log();
}

TEST_F(Cluster, KeepsEngineTimeWhenTheClockOfTheNextActiveIsBehind) {
  begin({minutes(3), -minutes(3)});
  ask(1);
  node(0).run_until_idle();
  node(0).crash();
  node(1).follow();
  ASSERT_TRUE(node(1).take_over());
  ask(2);
  world().run_for(node(1), minutes(5));
  EXPECT_THAT(events_in(world().broker, "finished"), IsEmpty())
      << "the engine time stands until the clock of the node has reached it";
  world().run_for(node(1), minutes(3));
  EXPECT_EQ(published("finished"), 2U);
  node(0).recover();
  expect_equal_rows();
}

TEST_F(Cluster, LoadsASnapshotOnANodeThatTheLogHasTooLittleFor) {
  begin({Duration(0), Duration(0), Duration(0)});
  int asked = 0;
  while (world().snapshots.empty()) {
    ASSERT_LT(asked, 200);
    ask(++asked);
    node(0).run_until_idle();
    node(1).follow();
    node(1).read_chunk();
  }
  const WorldSnapshot& snapshot = world().newest_snapshot();
  EXPECT_LT(snapshot.from.sequence, snapshot.to.sequence);
  world().trim_to(snapshot);
  EXPECT_EQ(node(2).try_follow().error().code, "log.trimmed");
  node(2).follow(1);
  EXPECT_EQ(node(2).loads, 1);
  expect_equal_rows();

  node(2).join(1);
  EXPECT_EQ(node(2).loads, 2) << "the process that died in between has loaded none";
  EXPECT_TRUE(node(2).is_loading());
  node(2).restart();
  EXPECT_EQ(node(2).loads, 3) << "a node that lacks rows loads them again";
  expect_equal_rows();
  node(0).crash();
  ASSERT_TRUE(node(2).take_over());
  world().run_for(node(2), minutes(2));
  EXPECT_EQ(published("announced"), static_cast<size_t>(asked));
  EXPECT_EQ(published("finished"), static_cast<size_t>(asked));
  node(0).recover();
  expect_equal_rows();
}

}  // namespace
}  // namespace millrace
