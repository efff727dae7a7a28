// The walk through the instances of a filter: by the index, and without it.
#include "orchestrator/service/instance_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/index_build.h"
#include "tests/unit/service/definitions.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class InstanceWalkTest : public QueryTest {
 protected:
  using enum InstanceStatus;

  InstanceWalkTest()
      : waits(apply(kWaits)), other(apply("id: other\nstates:\n- {id: end, type: noop}\n")) {}

  /// Stores six instances: 1, 3 and 5 of `waits`, 2, 4 and 6 of `other`; 1, 2 and 6 have failed,
  /// the others wait.
  void store_six() {
    for (const uint8_t number : {1, 2, 3, 4, 5, 6}) {
      Instance instance = waiting_instance(number % 2 == 1 ? waits : other, number);
      const bool fails = number < 3 || number == 6;
      store(fails ? ended(std::move(instance), kFailed) : std::move(instance));
    }
  }

  /// The numbers of the instances that a walk visits; at its end "cut N" if a bound has ended it.
  std::vector<std::string> walk(InstanceSelection selection, const WalkBounds& bounds = {},
                                size_t most = 100) {
    selection.ns = ns;
    std::vector<std::string> seen;
    const Snapshot view = *Snapshot::take(*environment);
    const auto end = each_selected(
        view, selection,
        [&](const Instance& head) {
          if (seen.size() == most) return false;
          seen.push_back(std::to_string(head.id.bytes.back()));
          return true;
        },
        [&](const InstanceId& id, const Error&) {
          seen.push_back("damaged " + std::to_string(id.bytes.back()));
          return true;
        },
        bounds);
    EXPECT_TRUE(end) << end.error().message;
    if (end && end->cut) seen.push_back("cut " + std::to_string(end->cut->bytes.back()));
    looked = end ? end->looked : 0;
    return seen;
  }
  void lose_the_index() {
    request_index_build(*tx);
    commit();
  }
  /// The same result is expected with the index and without it.
  void expect_walks() {
    EXPECT_THAT(walk({}), ElementsAre("6", "5", "4", "3", "2", "1"));
    EXPECT_THAT(walk({.statuses = {kFailed}}), ElementsAre("6", "2", "1"));
    EXPECT_THAT(walk({.statuses = {kFailed, kWaiting}}), ElementsAre("6", "5", "4", "3", "2", "1"));
    EXPECT_THAT(walk({.statuses = {kPaused}}), IsEmpty());
    EXPECT_THAT(walk({.workflow = waits}), ElementsAre("5", "3", "1"));
    EXPECT_THAT(walk({.workflow = waits, .statuses = {kFailed}}), ElementsAre("1"));
    EXPECT_THAT(walk({.workflow = other, .ids = until(3)}), ElementsAre("2"));
    EXPECT_THAT(walk({.statuses = {kWaiting}, .ids = until(4)}), ElementsAre("4", "3"));
    EXPECT_THAT(walk({.ids = {.first = numbered_id(3), .last = numbered_id(5)}}),
                ElementsAre("5", "4", "3"));
    EXPECT_THAT(walk({.oldest_first = true}), ElementsAre("1", "2", "3", "4", "5", "6"));
    EXPECT_THAT(walk({.statuses = {kFailed}, .oldest_first = true}), ElementsAre("1", "2", "6"));
    EXPECT_THAT(walk({.workflow = other, .ids = until(5), .oldest_first = true}),
                ElementsAre("2", "4"));
    EXPECT_THAT(walk({.statuses = {kWaiting}}, {}, 2), ElementsAre("5", "4"));
    EXPECT_THAT(walk({.statuses = {kFailed}}, {.places = 1}), ElementsAre("6", "2", "1"));
  }

  static IdRange until(uint8_t number) { return {.last = numbered_id(number)}; }

  const WorkflowNumber waits;
  const WorkflowNumber other;
  size_t looked = 0;  ///< WalkEnd::looked of the last walk
};

TEST_F(InstanceWalkTest, VisitsTheSelectedInstancesNewestFirst) {
  store_six();
  expect_walks();
}

TEST_F(InstanceWalkTest, VisitsTheSameInstancesIfTheIndexIsNotComplete) {
  store_six();
  lose_the_index();
  expect_walks();
}

TEST_F(InstanceWalkTest, LooksAtNoInstanceThatTheIndexExcludes) {
  store_six();
  EXPECT_THAT(walk({.statuses = {kPaused}}, {.heads = 0}), IsEmpty())
      << "without the index, the walk would be cut";
  EXPECT_THAT(walk({.workflow = waits}, {.heads = 3}), ElementsAre("5", "3", "1"));
  EXPECT_EQ(looked, 3U);
}

TEST_F(InstanceWalkTest, MergesTheInstancesOfManyPlacesWithSeveralChunksOfEach) {
  std::vector<std::string> newest_first;
  for (int number = 200; number > 0; --number) newest_first.push_back(std::to_string(number));
  const std::vector<std::string> oldest_first(newest_first.rbegin(), newest_first.rend());
  for (int number = 1; number <= 200; ++number) {
    Instance instance =
        waiting_instance(number % 3 == 0 ? waits : other, static_cast<uint8_t>(number));
    store(number % 5 == 0 ? ended(std::move(instance), kFailed) : std::move(instance));
  }
  for (const bool has_index : {true, false}) {
    if (!has_index) lose_the_index();
    const std::vector both = {kWaiting, kFailed};
    EXPECT_EQ(walk({.statuses = both}, {}, 1'000), newest_first) << has_index;
    EXPECT_EQ(looked, 200U);
    EXPECT_EQ(walk({.statuses = both, .oldest_first = true}, {}, 1'000), oldest_first) << has_index;
    EXPECT_EQ(walk({.oldest_first = true}, {}, 1'000), oldest_first) << has_index;
  }
}

TEST_F(InstanceWalkTest, NamesTheLastInstanceIfItsBoundEndsIt) {
  store_six();
  EXPECT_THAT(walk({}, {.heads = 2}), ElementsAre("6", "5", "cut 5"));
  EXPECT_THAT(walk({}, {.heads = 6}), ElementsAre("6", "5", "4", "3", "2", "1"));
  EXPECT_THAT(walk({.workflow = waits}, {.heads = 2}), ElementsAre("5", "3", "cut 3"));
  lose_the_index();
  EXPECT_THAT(walk({.workflow = other, .statuses = {kWaiting}}, {.heads = 2}),
              ElementsAre("cut 5"));
  EXPECT_THAT(walk({.workflow = other, .ids = until(4)}, {.heads = 2}), ElementsAre("4", "cut 3"));
  EXPECT_THAT(walk({.oldest_first = true}, {.heads = 2}), ElementsAre("1", "2", "cut 2"));
}

TEST_F(InstanceWalkTest, LooksAtOneInstanceAtLeastBeforeItsTimeIsOver) {
  store_six();
  int asked = 0;
  const WalkBounds at_once{.is_over = [] { return true; }};
  const WalkBounds soon{.is_over = [&] { return ++asked == 3; }};
  EXPECT_THAT(walk({}, at_once), ElementsAre("6", "cut 6"));
  EXPECT_EQ(looked, 1U);
  EXPECT_THAT(walk({.workflow = waits}, at_once), ElementsAre("5", "cut 5"));
  EXPECT_THAT(walk({}, soon), ElementsAre("6", "5", "4", "cut 4"));
}

TEST_F(InstanceWalkTest, VisitsTheSelectedOnesOfSomeInstances) {
  store_six();
  damage(Table::kLive, head_key(waiting_instance(waits, 3)));
  const std::vector ids = {numbered_id(9), numbered_id(6), numbered_id(5), numbered_id(3),
                           numbered_id(1)};
  const auto visited = [&](InstanceSelection selection, const WalkBounds& bounds = {}) {
    selection.ns = ns;
    std::vector<int> seen;
    const Snapshot view = *Snapshot::take(*environment);
    const auto see = [&](const Instance& head) {
      seen.push_back(head.id.bytes.back());
      return true;
    };
    const auto see_damaged = [&](const InstanceId& id, const Error&) {
      seen.push_back(-id.bytes.back());
      return true;
    };
    const auto end = each_of(view, selection, ids, see, see_damaged, bounds);
    EXPECT_TRUE(end) << end.error().message;
    if (end && end->cut) seen.push_back(1000 + end->cut->bytes.back());
    return seen;
  };
  EXPECT_THAT(visited({}), ElementsAre(6, 5, -3, 1));
  EXPECT_THAT(visited({.ids = until(5)}), ElementsAre(5, -3, 1));
  EXPECT_THAT(visited({.statuses = {kFailed}}), ElementsAre(6, -3, 1));
  EXPECT_THAT(visited({.workflow = waits}), ElementsAre(5, -3, 1));
  EXPECT_THAT(visited({}, {.heads = 3}), ElementsAre(6, 5, 1005));
}

TEST_F(InstanceWalkTest, ReportsDamagedInstances) {
  store_six();
  damage(Table::kLive, head_key(waiting_instance(waits, 3)));
  EXPECT_THAT(walk({.workflow = waits}), ElementsAre("5", "damaged 3", "1"));
  lose_the_index();
  EXPECT_THAT(walk({.workflow = waits}), ElementsAre("5", "damaged 3", "1"));
}

TEST_F(InstanceWalkTest, SkipsAnInstanceThatADamagedIndexHasUnderAnotherStatus) {
  store_six();
  tx->put(Table::kByStatus,
          by_status_key({.ns = ns, .revision = {waits, 1}, .status = kPaused}, numbered_id(3)), {});
  tx->put(Table::kByStatus,
          by_status_key({.ns = ns, .revision = {waits, 1}, .status = kPaused}, numbered_id(9)), {});
  commit();
  EXPECT_THAT(walk({.statuses = {kPaused}}), IsEmpty());
}

}  // namespace
}  // namespace millrace
