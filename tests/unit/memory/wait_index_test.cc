#include "orchestrator/memory/wait_index.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kShop = NamespaceNumber(1);

InstanceId id(uint8_t number) {
  InstanceId made;
  made.bytes[15] = number;
  return made;
}

Attributes event(std::string type, std::string region = "") {
  Event made{.id = "1", .source = "/s", .type = std::move(type)};
  if (!region.empty()) made.extensions["region"] = std::move(region);
  return Attributes(made);
}

EventFilter type(std::string name) { return {.type = std::move(name)}; }
EventFilter in_region(std::string name, std::string region) {
  return {.type = std::move(name),
          .predicates = {{"region", Predicate::Kind::kEquals, std::move(region)}}};
}

Instance waiter(uint8_t number, std::vector<Listener> listeners, std::vector<Timer> timers = {}) {
  Instance instance{.id = id(number), .ns = kShop};
  instance.phase = Phase::kWaiting;
  instance.listeners = std::move(listeners);
  instance.timers = std::move(timers);
  return instance;
}

Timer timeout(int64_t at) { return {TimerKind::kStateTimeout, from_millis(at)}; }
Timer delay(int64_t at) { return {TimerKind::kDelay, from_millis(at)}; }

/// The targets in order, such as `start 3:0,1` and `instance 7:2`.
std::vector<std::string> lines(const Targets& targets) {
  std::vector<std::string> all;
  for (const StartTarget& one : targets.starts) {
    all.push_back(fmt::format("start {}:{}", static_cast<uint32_t>(one.workflow),
                              fmt::join(one.entries, ",")));
  }
  for (const InstanceTarget& one : targets.instances) {
    EXPECT_EQ(one.ns, kShop);
    all.push_back(
        fmt::format("instance {}:{}", one.instance.bytes[15], fmt::join(one.entries, ",")));
  }
  return all;
}

/// The timers in order, such as `10 timeout 1` and `20 delayed 5`.
std::vector<std::string> lines(const std::vector<TimerInput>& timers) {
  std::vector<std::string> all;
  for (const TimerInput& timer : timers) {
    std::string owner;
    if (const auto* of = std::get_if<TimerInput::OfInstance>(&timer.owner)) {
      owner = fmt::format("{} {}", of->kind == TimerKind::kDelay ? "delay" : "timeout",
                          of->instance.bytes[15]);
    } else if (const auto* delayed = std::get_if<TimerInput::OfDelayedEvent>(&timer.owner)) {
      owner = fmt::format("delayed {}", delayed->number);
    } else if (const auto* grouped = std::get_if<TimerInput::OfGroupedEvent>(&timer.owner)) {
      owner = fmt::format("grouped {}", grouped->number);
    } else {
      const auto workflow = std::get<TimerInput::OfSchedule>(timer.owner).workflow;
      owner = fmt::format("schedule {}", static_cast<uint32_t>(workflow));
    }
    all.push_back(fmt::format("{} {}", to_millis(timer.deadline), owner));
  }
  return all;
}

/// The due timers in order.
std::vector<std::string> due(WaitIndex& waiting, int64_t now) {
  std::vector<TimerInput> timers;
  waiting.advance(from_millis(now), timers);
  return lines(timers);
}

TEST(WaitIndex, ReturnsMatchingStartsInOrderOfNumberThenInstancesInOrderOfId) {
  BatchCount batches;
  WaitIndex waiting(batches);
  // The starts and instances are not added in the order of the result.
  EXPECT_TRUE(waiting.update("default", waiter(9, {{0, type("t")}})));
  EXPECT_TRUE(
      waiting.update("default", waiter(2, {{0, type("u")}, {1, type("t")}, {4, type("t")}})));
  EXPECT_TRUE(waiting.update("default", waiter(200, {{0, in_region("t", "eu")}})));
  EXPECT_TRUE(
      waiting.set_start("default", WorkflowNumber(7), {{type("t")}, {in_region("t", "eu")}}));
  EXPECT_TRUE(waiting.set_start("default", WorkflowNumber(3), {{type("u")}, {type("t")}}));

  EXPECT_THAT(
      lines(waiting.match("default", event("t", "eu"))),
      ElementsAre("start 3:1", "start 7:0,1", "instance 2:1,4", "instance 9:0", "instance 200:0"));
  EXPECT_THAT(lines(waiting.match("default", event("t"))),
              ElementsAre("start 3:1", "start 7:0", "instance 2:1,4", "instance 9:0"));
  EXPECT_THAT(lines(waiting.match("default", event("u"))),
              ElementsAre("start 3:0", "instance 2:0"));
  EXPECT_THAT(lines(waiting.match("default", event("v"))), IsEmpty());
  EXPECT_THAT(lines(waiting.match("other", event("t"))), IsEmpty());
  EXPECT_EQ(waiting.listeners(), 9U);
}

TEST(WaitIndex, ReplacesTheListenersOfAStart) {
  BatchCount batches;
  WaitIndex waiting(batches);
  EXPECT_TRUE(waiting.set_start("default", WorkflowNumber(1), {{type("a")}, {type("b")}}));
  EXPECT_TRUE(waiting.set_start("default", WorkflowNumber(1), {{type("b")}}));
  EXPECT_THAT(lines(waiting.match("default", event("a"))), IsEmpty());
  EXPECT_THAT(lines(waiting.match("default", event("b"))), ElementsAre("start 1:0"));
  EXPECT_TRUE(waiting.set_start("default", WorkflowNumber(1), {}));
  EXPECT_THAT(lines(waiting.match("default", event("b"))), IsEmpty());
  EXPECT_EQ(waiting.listeners(), 0U);
}

TEST(WaitIndex, KeepsNoListenerOfAnInstanceOrStartIfOneOfThemIsDamaged) {
  BatchCount batches;
  WaitIndex waiting(batches);
  const EventFilter open_class{
      .type = "a",
      .predicates = {{.attribute = "source", .kind = Predicate::Kind::kPattern, .text = "["}}};
  for (const Listener& damaged : {Listener{70'000, type("a")}, Listener{1, open_class}}) {
    const Status done =
        waiting.update("default", waiter(1, {{0, type("a")}, damaged}, {timeout(9)}));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, "store.corrupt");
    EXPECT_EQ(waiting.listeners(), 0U);
    EXPECT_EQ(waiting.timers(), 0U);
  }
  const Status started =
      waiting.set_start("default", WorkflowNumber(1), {{type("a")}, {open_class}});
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, "store.corrupt");
  EXPECT_EQ(waiting.listeners(), 0U);
  EXPECT_TRUE(waiting.update("default", waiter(1, {{0, type("a")}}, {timeout(9)})));
  EXPECT_EQ(waiting.listeners(), 1U);
}

TEST(WaitIndex, ReplacesTheListenersAndTimersOfAnUpdatedInstance) {
  BatchCount batches;
  WaitIndex waiting(batches);
  EXPECT_TRUE(waiting.update("default", waiter(1, {{0, type("a")}}, {timeout(100)})));
  EXPECT_TRUE(
      waiting.update("default", waiter(1, {{0, type("b")}, {1, type("c")}}, {timeout(200)})));
  EXPECT_THAT(lines(waiting.match("default", event("a"))), IsEmpty());
  EXPECT_THAT(lines(waiting.match("default", event("c"))), ElementsAre("instance 1:1"));
  EXPECT_EQ(waiting.timers(), 1U);

  EXPECT_TRUE(waiting.update("default", waiter(1, {}, {delay(300)})));
  EXPECT_EQ(waiting.listeners(), 0U);
  EXPECT_THAT(due(waiting, 250), IsEmpty());

  EXPECT_TRUE(waiting.update("default", waiter(1, {})));
  EXPECT_EQ(waiting.timers(), 0U);
  EXPECT_THAT(due(waiting, 1000), IsEmpty());
}

TEST(WaitIndex, DoesNotConfuseAnInstanceWithAnEarlierOneAtTheSamePlaceInMemory) {
  BatchCount batches;
  WaitIndex waiting(batches);
  EXPECT_TRUE(waiting.update("default", waiter(1, {{0, type("a")}}, {timeout(100)})));
  EXPECT_TRUE(waiting.update("default", waiter(1, {})));
  EXPECT_TRUE(waiting.update("default", waiter(2, {{0, type("b")}}, {timeout(100)})));
  EXPECT_THAT(lines(waiting.match("default", event("a"))), IsEmpty());
  EXPECT_THAT(lines(waiting.match("default", event("b"))), ElementsAre("instance 2:0"));
  EXPECT_THAT(due(waiting, 100), ElementsAre("100 timeout 2"));
}

TEST(WaitIndex, ReturnsDueTimersInOrderOfDeadlineThenOwner) {
  BatchCount batches;
  WaitIndex waiting(batches);
  EXPECT_TRUE(waiting.update("default", waiter(9, {}, {timeout(30)})));
  EXPECT_TRUE(waiting.update("default", waiter(5, {}, {delay(30), timeout(40)})));
  EXPECT_TRUE(waiting.update("default", waiter(3, {}, {timeout(30)})));
  waiting.arm_grouped(2, from_millis(30));
  waiting.arm_schedule(WorkflowNumber(4), from_millis(30));
  waiting.arm_delayed(4, from_millis(30));
  waiting.arm_delayed(3, from_millis(30));
  waiting.arm_delayed(1, from_millis(20));
  EXPECT_LE(*waiting.next_deadline(), from_millis(20));
  EXPECT_THAT(due(waiting, 19), IsEmpty());
  EXPECT_THAT(due(waiting, 30),
              ElementsAre("20 delayed 1", "30 delayed 3", "30 delayed 4", "30 grouped 2",
                          "30 schedule 4", "30 timeout 3", "30 timeout 9", "30 delay 5"));
  EXPECT_THAT(due(waiting, 40), ElementsAre("40 timeout 5"));
  EXPECT_EQ(waiting.next_deadline(), std::nullopt);
}

TEST(WaitIndex, ReturnsTimersOfNamespacesInTurnsIfMoreAreDueThanOneCallReturns) {
  BatchCount batches;
  WaitIndex waiting(batches);
  for (uint8_t number = 1; number <= 200; ++number) {
    EXPECT_TRUE(waiting.update("default", waiter(number, {}, {delay(10)})));
  }
  Instance other = waiter(250, {}, {delay(20)});
  other.ns = NamespaceNumber(2);
  EXPECT_TRUE(waiting.update("other", other));
  std::vector<TimerInput> timers;
  EXPECT_FALSE(waiting.advance(from_millis(20), timers, 4));
  EXPECT_THAT(timers, testing::SizeIs(4));
  EXPECT_EQ(std::count_if(timers.begin(), timers.end(),
                          [](const TimerInput& timer) {
                            const auto* of = std::get_if<TimerInput::OfInstance>(&timer.owner);
                            return of != nullptr && of->ns == NamespaceNumber(2);
                          }),
            1)
      << "although it is due later than all others";
  EXPECT_EQ(waiting.timers(), 197U);
  EXPECT_LE(*waiting.next_deadline(), from_millis(20));
  EXPECT_TRUE(waiting.advance(from_millis(20), timers));
  EXPECT_THAT(timers, testing::SizeIs(201));
  EXPECT_EQ(waiting.timers(), 0U);
  EXPECT_EQ(waiting.next_deadline(), std::nullopt);
}

TEST(WaitIndex, KeepsTheDueTimersOverALostBatchThatItDidNotReturn) {
  BatchCount batches;
  WaitIndex waiting(batches);
  for (uint64_t number = 1; number <= 3; ++number) waiting.arm_delayed(number, from_millis(10));
  batches.begin();
  std::vector<TimerInput> timers;
  EXPECT_FALSE(waiting.advance(from_millis(10), timers, 1));
  EXPECT_THAT(waiting.undo().delayed, ElementsAre(1U));
  EXPECT_THAT(due(waiting, 10), ElementsAre("10 delayed 2", "10 delayed 3"));
}

TEST(WaitIndex, HasOneTimerOfAllThrottles) {
  BatchCount batches;
  WaitIndex waiting(batches);
  waiting.arm_throttle(from_millis(50));
  waiting.arm_throttle(from_millis(20));
  waiting.arm_starts(from_millis(30));
  std::vector<TimerInput> timers;
  EXPECT_TRUE(waiting.advance(from_millis(19), timers));
  EXPECT_THAT(timers, IsEmpty());
  EXPECT_TRUE(waiting.advance(from_millis(60), timers));
  ASSERT_THAT(timers, testing::SizeIs(2));
  EXPECT_EQ(timers[0].deadline, from_millis(20));
  EXPECT_TRUE(std::holds_alternative<TimerInput::OfThrottledStarts>(timers[0].owner));
  EXPECT_TRUE(std::holds_alternative<TimerInput::OfPendingStarts>(timers[1].owner));
  waiting.arm_throttle(from_millis(70));
  waiting.disarm_throttle();
  EXPECT_EQ(waiting.next_deadline(), std::nullopt);
}

TEST(WaitIndex, HasOneTimerOfAllThrottlesOfCalls) {
  BatchCount batches;
  WaitIndex waiting(batches);
  waiting.arm_call_throttle(from_millis(50));
  waiting.arm_call_throttle(from_millis(20));
  waiting.arm_throttle(from_millis(30));
  std::vector<TimerInput> timers;
  EXPECT_TRUE(waiting.advance(from_millis(60), timers));
  ASSERT_THAT(timers, testing::SizeIs(2));
  EXPECT_EQ(timers[0].deadline, from_millis(20));
  EXPECT_TRUE(std::holds_alternative<TimerInput::OfThrottledCalls>(timers[0].owner));
  EXPECT_TRUE(std::holds_alternative<TimerInput::OfThrottledStarts>(timers[1].owner));
  waiting.arm_call_throttle(from_millis(70));
  waiting.disarm_call_throttle();
  EXPECT_EQ(waiting.next_deadline(), std::nullopt);
}

TEST(WaitIndex, KnowsTheRevisionsOfTheInstancesThatWait) {
  BatchCount batches;
  WaitIndex waiting(batches);
  Instance one = waiter(1, {{0, type("t")}});
  one.revision = {WorkflowNumber(7), 3};
  EXPECT_TRUE(waiting.update("default", one));
  EXPECT_EQ(waiting.revision_of(one.id), one.revision);
  const Targets targets = waiting.match("default", event("t"));
  ASSERT_THAT(targets.instances, testing::SizeIs(1));
  EXPECT_EQ(targets.instances.front().revision, one.revision);
  one.listeners.clear();
  EXPECT_TRUE(waiting.update("default", one));
  EXPECT_EQ(waiting.revision_of(one.id), Revision());
}

TEST(WaitIndex, HasOnlyTheTimersOfAnInstanceThatTakesEarlyEvents) {
  BatchCount batches;
  WaitIndex waiting(batches);
  Instance one = waiter(1, {{0, type("t")}}, {timeout(10)});
  EXPECT_TRUE(waiting.update("default", one));
  one.phase = Phase::kEntering;
  EXPECT_TRUE(waiting.update("default", one));
  EXPECT_FALSE(waiting.listens(one.id));
  EXPECT_THAT(waiting.match("default", event("t")).instances, testing::IsEmpty());
  EXPECT_THAT(due(waiting, 10), ElementsAre("10 timeout 1"));
  one.timers.clear();
  EXPECT_TRUE(waiting.update("default", one));
  EXPECT_EQ(waiting.revision_of(one.id), Revision()) << "neither listeners nor timers";
  one.phase = Phase::kWaiting;
  EXPECT_TRUE(waiting.update("default", one));
  EXPECT_TRUE(waiting.listens(one.id));
}

TEST(WaitIndex, ReturnsTheTimersOfWorkflowsInTurnsIfMoreAreDueThanOneCallReturns) {
  BatchCount batches;
  WaitIndex waiting(batches);
  for (uint8_t number = 1; number <= 200; ++number) {
    Instance many = waiter(number, {}, {delay(10)});
    many.revision = {WorkflowNumber(1), 1};
    EXPECT_TRUE(waiting.update("default", many));
  }
  Instance other = waiter(250, {}, {delay(20)});
  other.revision = {WorkflowNumber(2), 1};
  EXPECT_TRUE(waiting.update("default", other));
  std::vector<TimerInput> timers;
  EXPECT_FALSE(waiting.advance(from_millis(20), timers, 4));
  ASSERT_THAT(timers, testing::SizeIs(4));
  EXPECT_TRUE(std::any_of(timers.begin(), timers.end(), [&](const TimerInput& timer) {
    const auto* const of = std::get_if<TimerInput::OfInstance>(&timer.owner);
    return of != nullptr && of->instance == other.id;
  })) << "although it is due later than all others";
}

TEST(WaitIndex, ForgetsDisarmedTimers) {
  BatchCount batches;
  WaitIndex waiting(batches);
  waiting.arm_grouped(1, from_millis(10));
  waiting.arm_grouped(2, from_millis(10));
  waiting.arm_delayed(1, from_millis(10));
  waiting.arm_schedule(WorkflowNumber(1), from_millis(10));
  waiting.disarm_grouped(1);
  waiting.disarm_grouped(7);
  EXPECT_EQ(waiting.timers(), 3U);
  waiting.arm_schedule(WorkflowNumber(1), from_millis(11));
  EXPECT_THAT(due(waiting, 10), ElementsAre("10 delayed 1", "10 grouped 2"));
  waiting.disarm_schedule(WorkflowNumber(1));
  EXPECT_THAT(due(waiting, 11), IsEmpty());

  // Disarming a timer that has fired does not disarm the timer that uses its place now.
  waiting.arm_grouped(3, from_millis(20));
  waiting.disarm_grouped(2);
  waiting.disarm_delayed(1);
  EXPECT_THAT(due(waiting, 20), ElementsAre("20 grouped 3"));
}

TEST(WaitIndex, HasNoListenersAndNoTimersAfterClear) {
  BatchCount batches;
  WaitIndex waiting(batches);
  EXPECT_TRUE(waiting.set_start("default", WorkflowNumber(1), {{type("a")}}));
  EXPECT_TRUE(waiting.update("default", waiter(1, {{0, type("a")}}, {timeout(100)})));
  waiting.arm_delayed(1, from_millis(50));
  waiting.clear();
  EXPECT_EQ(waiting.listeners(), 0U);
  EXPECT_EQ(waiting.timers(), 0U);
  EXPECT_THAT(lines(waiting.match("default", event("a"))), IsEmpty());
  EXPECT_THAT(due(waiting, 1000), IsEmpty());
}

TEST(WaitIndex, ReturnsTheOwnersOfUndecidedListenersApart) {
  BatchCount batches;
  WaitIndex waiting(batches);
  const auto with = [](const char* text) {
    return EventFilter{.type = "t", .predicates = {{"region", Predicate::Kind::kPattern, text}}};
  };
  ASSERT_TRUE(waiting.set_start("default", WorkflowNumber(1), {{.filter = with("^(?=eu)")}}));
  ASSERT_TRUE(waiting.set_start("default", WorkflowNumber(2),
                                {{.filter = type("t")}, {.filter = with("^(?=us)")}}));
  ASSERT_TRUE(waiting.update("default", waiter(1, {{0, type("t")}, {1, with("^(?!us)")}})));
  ASSERT_TRUE(waiting.update("default", waiter(2, {{0, type("t")}})));
  const Targets none = waiting.match("default", event("t", "eu"), {.steps = 0});
  EXPECT_THAT(lines(none), ElementsAre("instance 2:0"))
      << "an owner with an undecided entry is undecided";
  EXPECT_THAT(none.undecided_starts, ElementsAre(WorkflowNumber(1), WorkflowNumber(2)));
  EXPECT_THAT(none.undecided_instances, ElementsAre(id(1)));
  EXPECT_FALSE(none.empty());
  const Targets all = waiting.match("default", event("t", "eu"));
  EXPECT_THAT(lines(all), ElementsAre("start 1:0", "start 2:0", "instance 1:0,1", "instance 2:0"));
  EXPECT_THAT(all.undecided_starts, IsEmpty());
  EXPECT_THAT(all.undecided_instances, IsEmpty());
  EXPECT_TRUE(waiting.match("default", event("u")).empty());
}

TEST(WaitIndex, FindsWaitingInstancesByOneValue) {
  BatchCount batches;
  WaitIndex waiting(batches);
  ASSERT_TRUE(waiting.set_start("default", WorkflowNumber(1), {{.filter = in_region("t", "eu")}}));
  ASSERT_TRUE(
      waiting.update("default", waiter(7, {{0, in_region("t", "eu")}, {1, in_region("t", "eu")}})));
  ASSERT_TRUE(waiting.update("default", waiter(2, {{0, in_region("t", "eu")}})));
  ASSERT_TRUE(waiting.update("default", waiter(3, {{0, in_region("t", "EU")}})));
  ASSERT_TRUE(waiting.update("default", waiter(4, {{0, type("u")}})));
  const NearListeners near = waiting.near("default", "t", {{"region", "eu"}}, 100);
  EXPECT_THAT(near.instances, ElementsAre(id(2), id(7)));
  EXPECT_EQ(near.of, 5U) << "the listeners of the type, whatever they ask for";
  EXPECT_TRUE(near.is_complete);
  EXPECT_THAT(waiting.near("default", "t", {{"region", "eu"}, {"region", "EU"}}, 100).instances,
              ElementsAre(id(2), id(3), id(7)));
  EXPECT_FALSE(waiting.near("default", "t", {{"region", "eu"}, {"region", "EU"}}, 3).is_complete);
  EXPECT_EQ(waiting.near("default", "v", {{"region", "eu"}}, 100).of, 0U);
  EXPECT_TRUE(waiting.near("default", "t", {}, 0).is_complete);
}

TEST(WaitIndex, FindsTheWaitingInstancesThatAskForAValueOfAnyType) {
  BatchCount batches;
  WaitIndex waiting(batches);
  ASSERT_TRUE(waiting.set_start("default", WorkflowNumber(1), {{.filter = in_region("t", "eu")}}));
  ASSERT_TRUE(
      waiting.update("default", waiter(7, {{0, in_region("t", "eu")}, {1, in_region("u", "eu")}})));
  ASSERT_TRUE(waiting.update("default", waiter(2, {{0, in_region("u", "eu")}})));
  ASSERT_TRUE(waiting.update("default", waiter(3, {{0, in_region("t", "us")}})));
  const AskingInstances any = waiting.asking("default", "", {"region", "eu"}, 100);
  EXPECT_THAT(any.ids, ElementsAre(id(2), id(7)));
  EXPECT_TRUE(any.is_complete);
  EXPECT_THAT(waiting.asking("default", "t", {"region", "eu"}, 100).ids, ElementsAre(id(7)));
  EXPECT_THAT(waiting.asking("shop", "", {"region", "eu"}, 100).ids, IsEmpty());
  EXPECT_FALSE(waiting.asking("default", "", {"region", "eu"}, 3).is_complete);
}

TEST(WaitIndex, WalksThroughTheTimersOfANamespaceWithoutAChange) {
  BatchCount batches;
  WaitIndex waiting(batches);
  EXPECT_TRUE(waiting.update("default", waiter(1, {}, {timeout(70'000), delay(20)})));
  Instance other = waiter(2, {}, {delay(10)});
  other.ns = NamespaceNumber(2);
  EXPECT_TRUE(waiting.update("other", other));
  waiting.arm_delayed(5, from_millis(40));
  waiting.arm_grouped(6, from_millis(900));
  waiting.arm_schedule(WorkflowNumber(3), from_millis(30));
  static_cast<void>(due(waiting, 0));

  Wheel::Walk walk;
  std::vector<TimerInput> seen;
  EXPECT_EQ(waiting.walk_timers(kShop, walk, 3, seen), 3U);
  EXPECT_THAT(lines(seen), ElementsAre("20 delay 1"));
  EXPECT_FALSE(walk.has_ended());
  EXPECT_GE(walk.seen_until(), from_millis(31));
  EXPECT_LE(walk.seen_until(), from_millis(40));
  EXPECT_EQ(waiting.walk_timers(kShop, walk, 100, seen), 3U);
  EXPECT_THAT(lines(seen),
              ElementsAre("20 delay 1", "40 delayed 5", "900 grouped 6", "70000 timeout 1"));
  EXPECT_TRUE(walk.has_ended());
  EXPECT_EQ(waiting.timers(), 6U);
}

}  // namespace
}  // namespace millrace
