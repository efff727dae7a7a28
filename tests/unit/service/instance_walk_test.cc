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
    if (end && *end) seen.push_back("cut " + std::to_string((*end)->bytes.back()));
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
    EXPECT_THAT(walk({.workflow = other, .before = numbered_id(4)}), ElementsAre("2"));
    EXPECT_THAT(walk({.statuses = {kWaiting}, .before = numbered_id(5)}), ElementsAre("4", "3"));
    EXPECT_THAT(walk({.statuses = {kWaiting}}, {}, 2), ElementsAre("5", "4"));
    EXPECT_THAT(walk({.statuses = {kFailed}}, {.places = 1}), ElementsAre("6", "2", "1"));
  }

  const WorkflowNumber waits;
  const WorkflowNumber other;
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
}

TEST_F(InstanceWalkTest, NamesTheLastInstanceIfItsBoundEndsIt) {
  store_six();
  EXPECT_THAT(walk({}, {.heads = 2}), ElementsAre("6", "5", "cut 5"));
  EXPECT_THAT(walk({}, {.heads = 6}), ElementsAre("6", "5", "4", "3", "2", "1"));
  EXPECT_THAT(walk({.workflow = waits}, {.heads = 2}), ElementsAre("5", "3", "cut 3"));
  lose_the_index();
  EXPECT_THAT(walk({.workflow = other, .statuses = {kWaiting}}, {.heads = 2}),
              ElementsAre("cut 5"));
  EXPECT_THAT(walk({.workflow = other, .before = numbered_id(5)}, {.heads = 2}),
              ElementsAre("4", "cut 3"));
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
