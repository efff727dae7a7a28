// route_event: which starts and instances an event matches, and whether the event is a duplicate,
// is kept or fans out.
#include "orchestrator/batch/event_router.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/event_target.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = EventRoute::Kind;

constexpr const char* kStartedWaits = R"(
id: waits
start: {type: event, event: {type: begin}}
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)";
constexpr const char* kGoes = R"(
id: goes
start: {type: event, event: {type: go}}
states:
- {id: done, type: noop}
)";
constexpr const char* kPaysFirst = R"(
id: pays-first
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- {id: pay, type: action, action: {function: charge}, transition: wait}
- {id: wait, type: consumeEvent, event: {type: shipped}}
)";

class EventRouterTest : public BatchPartTest {
 protected:
  static Event event(const std::string& type, const std::string& id = "1") {
    return {.id = id, .source = "/s", .type = type};
  }
  EventRoute route(const Event& one, const std::string& ns_name = "default",
                   size_t most_woken = 10) {
    const EventInput input{.ns = ns_name, .sequence = 1, .event = EncodedEvent(one)};
    return route_event({catalog, waiting, kept_events, dedupe}, input, most_woken, {});
  }
  /// Starts instances that wait for `go`; their ids are 1, 2, …
  void wait_for_go(size_t count) {
    const WorkflowEntry& entry = define(kStartedWaits);
    for (size_t i = 0; i < count; ++i) start(entry);
    commit_batch();
  }
  /// Starts an instance that waits for a call, and for `shipped` after the call.
  void pay_first() {
    start(define(kPaysFirst));
    commit_batch();
  }
};

TEST_F(EventRouterTest, RoutesAnEventToTheStartsAndTheInstancesThatItMatches) {
  wait_for_go(2);
  const WorkflowNumber goes = define(kGoes).number;
  const EventRoute found = route(event("go", "7"));
  EXPECT_EQ(found.kind, Kind::kTargets);
  EXPECT_TRUE(found.matched);
  EXPECT_FALSE(found.is_wanted);
  EXPECT_FALSE(found.fans_out);
  EXPECT_EQ(found.ns, ns);
  EXPECT_EQ(found.event.id, "7");
  EXPECT_EQ(found.known_as, fingerprint_of("default", event("go", "7")));
  EXPECT_THAT(found.targets.starts, ElementsAre(testing::Field(&StartTarget::workflow, goes)));
  EXPECT_THAT(found.targets.instances,
              ElementsAre(testing::Field(&InstanceTarget::instance, numbered_id(1)),
                          testing::Field(&InstanceTarget::instance, numbered_id(2))));
}

TEST_F(EventRouterTest, DoesNotDecodeAnUnmatchedEvent) {
  wait_for_go(1);
  const EventRoute found = route(event("other"));
  EXPECT_EQ(found.kind, Kind::kUnmatched);
  EXPECT_FALSE(found.matched);
  EXPECT_EQ(found.ns, ns);
  EXPECT_EQ(found.event.id, "");
}

TEST_F(EventRouterTest, RoutesAnEventInItsOwnNamespaceOnly) {
  wait_for_go(1);
  EXPECT_EQ(route(event("go"), "shop").kind, Kind::kNoNamespace);
  const NamespaceNumber shop = create_namespace("shop");
  const EventRoute found = route(event("go"), "shop");
  EXPECT_EQ(found.kind, Kind::kUnmatched);
  EXPECT_EQ(found.ns, shop);
}

TEST_F(EventRouterTest, KeepsAnEventForAnInstanceThatMayComeToWaitForIt) {
  pay_first();
  const EventRoute found = route(event("shipped"));
  EXPECT_EQ(found.kind, Kind::kTargets);
  EXPECT_TRUE(found.is_wanted);
  EXPECT_FALSE(found.matched);
  EXPECT_EQ(found.event.type, "shipped");
  EXPECT_THAT(found.targets.instances, IsEmpty());
  const NamespaceNumber shop = create_namespace("shop");
  EXPECT_FALSE(kept_events.wants(shop, "shipped"));
  EXPECT_EQ(route(event("shipped"), "shop").kind, Kind::kUnmatched);
}

TEST_F(EventRouterTest, KeepsAnEventForAnInstanceForWhichAnEarlierOneIsUndecided) {
  wait_for_go(2);
  kept_events.keep(*tx, ns, event("other", "1"), fingerprint_of("default", event("other", "1")),
                   {1, 1});
  ASSERT_TRUE(kept_events.hold(ns, kept_events.last(), std::set<std::string>()));
  EXPECT_FALSE(route(event("go", "2")).is_wanted);
  kept_events.undecided().add(numbered_id(2));
  const EventRoute found = route(event("go", "2"));
  EXPECT_TRUE(found.is_wanted);
  EXPECT_TRUE(found.may_be_late);
  EXPECT_EQ(route(event("other", "3")).kind, Kind::kUnmatched);
}

TEST_F(EventRouterTest, FindsADuplicateOfAnEventThatHadAnEffect) {
  wait_for_go(1);
  dedupe.add(fingerprint_of("default", event("go", "1")));
  const EventRoute again = route(event("go", "1"));
  EXPECT_EQ(again.kind, Kind::kDuplicate);
  EXPECT_TRUE(again.matched) << "a duplicate matches a target, but is not delivered to it";
  EXPECT_EQ(route(event("go", "2")).kind, Kind::kTargets);
  EXPECT_EQ(route(event("other", "1")).kind, Kind::kUnmatched)
      << "an unmatched event is not a duplicate";
}

TEST_F(EventRouterTest, FindsADuplicateOfAKeptEvent) {
  pay_first();
  const EventRoute first = route(event("shipped"));
  kept_events.keep(*tx, ns, first.event, first.known_as, {1, 1});
  EXPECT_EQ(route(event("shipped")).kind, Kind::kDuplicate);
  EXPECT_EQ(route(event("shipped", "2")).kind, Kind::kTargets);
}

TEST_F(EventRouterTest, FansOutAnEventThatMatchesMoreInstancesThanOneBatchMayWake) {
  wait_for_go(3);
  define(kGoes);
  EXPECT_FALSE(route(event("go"), "default", 3).fans_out) << "a start wakes no instance";
  EXPECT_TRUE(route(event("go"), "default", 2).fans_out);
}

TEST_F(EventRouterTest, LeavesOnlyTheTargetOfAReplayedEvent) {
  wait_for_go(2);
  const WorkflowNumber goes = define(kGoes).number;
  const auto route_to = [&](const std::string& target) {
    Event one = event("go");
    one.extensions = {{std::string(kTargetAttribute), target}};
    return route(one);
  };
  const EventRoute second = route_to(instance_target(numbered_id(2)));
  EXPECT_THAT(second.targets.starts, IsEmpty());
  EXPECT_THAT(second.targets.instances,
              ElementsAre(testing::Field(&InstanceTarget::instance, numbered_id(2))));
  const EventRoute start = route_to(workflow_target(goes));
  EXPECT_THAT(start.targets.starts, ElementsAre(testing::Field(&StartTarget::workflow, goes)));
  EXPECT_EQ(start.targets.instances.size(), 2U)
      << "their workflows are compared when they are read";
  for (const std::string& other : {instance_target(numbered_id(9)), std::string("no target")}) {
    const EventRoute none = route_to(other);
    EXPECT_EQ(none.kind, Kind::kUnmatched) << other;
    EXPECT_FALSE(none.matched) << other;
  }
}

TEST_F(EventRouterTest, ReadsOnlyTheCachesAndChangesNothing) {
  wait_for_go(2);
  pay_first();
  const auto route_all = [&]() -> Status {
    for (const char* const type : {"begin", "go", "shipped", "other"}) route(event(type));
    return tx->status();
  };
  EXPECT_EQ(fail_each_read(route_all, [] {}), 0U);
  EXPECT_TRUE(tx->write_set().empty());
  EXPECT_EQ(route(event("go")).kind, Kind::kTargets);
}

}  // namespace
}  // namespace millrace
