// Instances that events start: their ids in a store that was restored from a backup and applies the
// events after the backup again, and in lists by the time of their starts.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kSettles = R"(
id: settles
start: {type: event, event: {type: placed}}
states:
- {id: settle, type: generateEvent, event: {type: settled, source: /order, data: 1}}
)";

constexpr const char* kLedger = R"(
id: ledger
start: {type: event, event: {type: settled}}
states:
- {id: done, type: noop}
)";

constexpr const char* kCouples = R"(
id: couples
start: {type: eventsAnd, events: [{type: left}, {type: right}]}
states:
- {id: done, type: noop}
)";

/// The ids of all instances, ascending.
std::vector<std::string> ids_in(World& world) {
  std::vector<std::string> ids;
  for (const Json& one : world.instances()) ids.push_back(one["id"]);
  std::sort(ids.begin(), ids.end());
  return ids;
}

class RestoredStarts : public testing::Test {
 protected:
  /// Makes a backup. The process continues.
  void back_up() {
    world.crash();
    world.copy_store_to(folder.path() / "running");
    world.recover();
  }
  /// Restores the backup, `after` the end of the process.
  void restore(Duration after) {
    world.crash();
    world.return_to_copied_store();
    world.clock.advance(after);
    world.recover();
    world.run_until_idle();
  }
  /// Publishes an event whose instance generates an event that starts another instance, and
  /// restores a store without these instances. Returns their ids before the restore.
  std::vector<std::string> settle_and_restore(Duration after) {
    world.apply(kSettles);
    world.apply(kLedger);
    back_up();
    world.publish("placed", "1");
    world.run_until_idle();
    const std::vector<std::string> before = ids_in(world);
    EXPECT_THAT(before, SizeIs(2));
    EXPECT_THAT(world.events("settled"), SizeIs(1));
    restore(after);
    return before;
  }

  Folder folder;
  World world;
};

TEST_F(RestoredStarts, HaveTheSameIdsAndTheBrokerDropsTheirEventsAsDuplicates) {
  const std::vector<std::string> before = settle_and_restore(minutes(1));
  EXPECT_EQ(ids_in(world), before);
  EXPECT_THAT(world.events("settled"), SizeIs(1));
}

TEST_F(RestoredStarts, GenerateEventsThatAreDuplicatesWithinTheDeduplicationWindow) {
  const std::vector<std::string> before = settle_and_restore(minutes(5));
  EXPECT_THAT(world.events("settled"), SizeIs(2)) << "the broker has forgotten the message id";
  EXPECT_EQ(world.events("settled")[0].id, world.events("settled")[1].id);
  EXPECT_EQ(world.metric("millrace_events_duplicate_total"), 1);
  EXPECT_EQ(ids_in(world), before);
}

TEST_F(RestoredStarts, HaveTheSameIdsIfSeveralEventsStartThem) {
  world.apply(kCouples);
  world.publish("left", "1");
  world.run_until_idle();
  back_up();
  world.publish("left", "2");
  world.publish("right", "3");
  world.publish("right", "4");
  world.run_until_idle();
  const std::vector<std::string> before = ids_in(world);
  EXPECT_THAT(before, SizeIs(2));
  restore(hours(3));
  EXPECT_EQ(ids_in(world), before);
}

TEST_F(RestoredStarts, DoNotIncludeThatOfACallAfterTheBackup) {
  world.apply(kCouples);
  back_up();
  world.start("couples");
  EXPECT_THAT(world.instances(), SizeIs(1));
  restore(minutes(1));
  EXPECT_THAT(world.instances(), IsEmpty()) << "a call that came after the backup is lost";
}

TEST(StartsByEvents, HaveTheSameIdsInEachStoreWithTheSameKey) {
  const auto ids_with = [](const std::string& key, uint64_t seed, Duration downtime) {
    World other({.seed = seed, .id_key = key});
    other.apply(kSettles);
    other.apply(kCouples);
    other.crash();
    for (const char* const type : {"placed", "left", "placed", "right"}) {
      other.publish(type, std::to_string(other.broker.events().size()));
    }
    other.clock.advance(downtime);
    other.recover();
    other.run_until_idle();
    return ids_in(other);
  };
  const std::vector<std::string> ids = ids_with("key", 1, minutes(0));
  EXPECT_THAT(ids, SizeIs(3));
  EXPECT_EQ(ids_with("key", 2, hours(5)), ids);
  const std::vector<std::string> others = ids_with("another key", 1, minutes(0));
  EXPECT_THAT(others, SizeIs(3));
  EXPECT_EQ(std::find_first_of(ids.begin(), ids.end(), others.begin(), others.end()), ids.end());
}

TEST(StartsByEvents, AreListedByTheTimesOfTheStartsAfterAnOutageOfTheBroker) {
  World world;
  world.apply(kCouples);
  world.broker.disconnect();
  world.publish("left", "1");
  world.publish("right", "2");
  world.run_for(hours(1));
  const std::string called = world.start("couples")["id"];
  world.run_for(hours(1));
  world.broker.reconnect();
  world.run_until_idle();
  const auto listed = [&](Duration before_now) {
    const Snapshot view = Snapshot::take(world.environment()).value();
    const InstanceFilter filter{.since = world.clock.now() - before_now};
    const Json page = world.queries().instances(view, "default", filter).value();
    std::vector<std::string> found;
    for (const Json& one : page["items"]) found.push_back(one["id"]);
    return found;
  };
  ASSERT_THAT(listed(hours(3)), SizeIs(2));
  EXPECT_EQ(listed(hours(3)).front(), called) << "the list is in the order of the ids";
  const std::string started = listed(hours(3)).back();
  EXPECT_THAT(listed(minutes(30)), ElementsAre(started));
  EXPECT_THAT(listed(-minutes(1)), IsEmpty());
}

}  // namespace
}  // namespace millrace
