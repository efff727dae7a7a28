// Poison: what a starting process does about the crash note of processes that died.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/batch/crash_note.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kStarts = R"(
id: starts
start: {type: event, event: {type: begin}}
states:
- {id: wait, type: consumeEvent, timeout: PT1H, event: {type: go}, catch: [{error: "*", transition: caught}]}
- {id: caught, type: noop}
)";

class Poison : public testing::Test {
 protected:
  Poison() { world.apply(kStarts); }

  /// The process is killed from outside `times` times, each time with that crash note, and then
  /// restarts.
  void die_with_event(uint64_t sequence, int times, std::optional<InstanceId> stepped = {}) {
    die(times, [&](CrashNote& note) {
      note.take_event(sequence);
      if (stepped) note.stepping({NamespaceNumber(1), *stepped});
    });
  }
  void die_with_instance(const InstanceId& id, int times) {
    die(times, [&](CrashNote& note) { note.take_instance({NamespaceNumber(1), id}); });
  }
  void die(int times, const std::function<void(CrashNote&)>& take) {
    const auto folder = world.environment().folder();
    world.crash();
    for (int i = 0; i < times; ++i) {
      CrashNote note;
      ASSERT_TRUE(note.open(folder));
      note.begin_careful(1);
      take(note);
    }
    world.recover();
    world.run_until_idle();
  }
  uint64_t next_sequence() { return world.processor().cursor().sequence + 1; }
  InstanceId first() {
    return *parse_instance_id(world.instances().at(0)["id"].get<std::string>());
  }

  World world;
};

TEST_F(Poison, IsAnEventAtWhichTheProcessWasKilledSixTimes) {
  const uint64_t poison = next_sequence();
  world.publish("begin", "1", 1);
  world.publish("begin", "2", 2);
  die_with_event(poison, 6);
  EXPECT_THAT(world.dead_letters(), ElementsAre("millrace.poison"));
  ASSERT_THAT(world.instances(), SizeIs(1)) << "the other event starts its instance";
  EXPECT_EQ(world.instances()[0]["input"], (Json{{"begin", 2}}));
}

TEST_F(Poison, IsNotAnEventAtWhichTheProcessWasKilledFiveTimes) {
  const uint64_t suspect = next_sequence();
  world.publish("begin", "1", 1);
  die_with_event(suspect, 5);
  EXPECT_THAT(world.dead_letters(), IsEmpty());
  EXPECT_THAT(world.instances(), SizeIs(1));
  const uint64_t other = next_sequence();
  world.publish("begin", "2", 2);
  die_with_event(other, 5);
  EXPECT_THAT(world.dead_letters(), IsEmpty()) << "the counts of two events are separate";
  EXPECT_THAT(world.instances(), SizeIs(2));
}

TEST_F(Poison, IsTheInstanceThatWasSteppedAndNotTheEventThatWokeIt) {
  world.publish("begin", "1", 1);
  world.publish("begin", "2", 2);
  world.run_until_idle();
  const uint64_t suspect = next_sequence();
  world.publish("go", "3", 3);
  die_with_event(suspect, 6, first());
  EXPECT_THAT(world.dead_letters(), IsEmpty());
  EXPECT_EQ(world.instances()[0]["status"], "failed") << "no catch applies";
  EXPECT_EQ(world.instances()[0]["error"]["code"], "millrace.poison");
  EXPECT_EQ(world.instances()[1]["status"], "complete") << "the others get the event";
}

TEST_F(Poison, IsAnInstanceAtWhichTheProcessWasKilledSixTimes) {
  world.publish("begin", "1", 1);
  world.publish("begin", "2", 2);
  world.run_until_idle();
  die_with_instance(first(), 6);
  EXPECT_EQ(world.instances()[0]["error"]["code"], "millrace.poison");
  EXPECT_EQ(world.instances()[1]["status"], "waiting");
}

TEST_F(Poison, CountsDeathsFromOneAgainAfterTheProcessEndedForAnotherReason) {
  world.publish("begin", "1", 1);
  world.run_until_idle();
  die_with_instance(first(), 5);
  world.restart();
  world.run_until_idle();
  die_with_instance(first(), 5);
  EXPECT_EQ(world.instances()[0]["status"], "waiting");
}

TEST_F(Poison, IsSearchedForOneInputAtATime) {
  for (int i = 0; i < 5; ++i) world.publish("begin", std::to_string(i));
  const auto folder = world.environment().folder();
  world.crash();
  {
    CrashNote note;
    ASSERT_TRUE(note.open(folder));
    note.begin(5);
  }
  world.recover();
  const uint64_t before = world.processor().cursor().sequence;
  while (world.processor().cursor().sequence == before) world.step();
  EXPECT_EQ(world.processor().cursor().sequence, before + 1);
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(5));
  for (int i = 0; i < 100; ++i) {  // the search ends
    world.publish("nobody", "x" + std::to_string(i));
  }
  world.run_until_idle();
  world.publish("begin", "6");
  world.publish("begin", "7");
  world.step();
  EXPECT_THAT(world.instances(), SizeIs(7));
}

}  // namespace
}  // namespace millrace
