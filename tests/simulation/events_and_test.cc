// How an eventsAnd start correlates its events.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// After this time the broker stores an event with the same message id again.
constexpr std::chrono::minutes kBrokersWindow{2};

constexpr const char* kEventPairs = R"(
id: pairs
start:
  type: eventsAnd
  correlate: [order]
  events: [{type: paid}, {type: packed}]
states:
- {id: done, type: noop}
)";

TEST(StartByEventsAnd, CorrelatesEventsByTheirAttributes) {
  World world;
  world.apply(kEventPairs);
  world.publish("paid", "1", "p1", {{"order", "A"}});
  world.publish("packed", "2", "k1", {{"order", "B"}});
  world.run_until_idle();
  EXPECT_THAT(world.instances(), IsEmpty());

  world.publish("packed", "3", "k2", {{"order", "A"}});
  world.run_until_idle();
  auto instances = world.instances();
  ASSERT_THAT(instances, SizeIs(1));
  EXPECT_EQ(instances[0]["input"], (Json{{"paid", "p1"}, {"packed", "k2"}}));

  world.restart();
  world.publish("paid", "4", "p2", {{"order", "B"}});
  world.run_until_idle();
  instances = world.instances();
  ASSERT_THAT(instances, SizeIs(2));
  EXPECT_EQ(instances[1]["input"], (Json{{"paid", "p2"}, {"packed", "k1"}}));
}

TEST(StartByEventsAnd, CorrelatesANumberWithTheSameNumberAsText) {
  World world;
  world.apply(kEventPairs);
  world.publish("paid", "1", 1, {{"order", 7}});
  world.publish("packed", "2", 2, {{"order", "7"}});
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(1));
}

TEST(StartByEventsAnd, IgnoresAnEventWithoutACorrelatedAttribute) {
  World world;
  world.apply(kEventPairs);
  world.publish("paid", "1", 1);
  world.publish("packed", "2", 2);
  world.publish("packed", "3", 3, {{"order", ""}});
  world.run_until_idle();
  EXPECT_THAT(world.instances(), IsEmpty());
  EXPECT_THAT(world.dead_letters(), IsEmpty());

  // The event had no effect, so the same event with the attribute is not a duplicate.
  world.clock.advance(kBrokersWindow);
  world.publish("paid", "1", 1, {{"order", ""}});
  world.run_until_idle();
  ASSERT_THAT(world.instances(), SizeIs(1));
  EXPECT_EQ(world.instances()[0]["input"], (Json{{"paid", 1}, {"packed", 3}}));
}

TEST(StartByEventsAnd, StartsTwoInstancesFromTwoPairsInAnyOrder) {
  std::string order = "AABB";
  do {
    World world;
    world.apply(kEventPairs);
    int paid = 0;
    int packed = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      const bool first = order[i] == 'A';
      world.publish(first ? "paid" : "packed", std::to_string(i), first ? ++paid : ++packed,
                    {{"order", "1"}});
    }
    world.run_until_idle();
    const auto instances = world.instances();
    ASSERT_THAT(instances, SizeIs(2)) << order;
    // Each group uses its events in the order of their arrival: no event is overwritten or used
    // twice.
    EXPECT_EQ(instances[0]["input"], (Json{{"paid", 1}, {"packed", 1}})) << order;
    EXPECT_EQ(instances[1]["input"], (Json{{"paid", 2}, {"packed", 2}})) << order;
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(StartByEventsAnd, StartsOneInstanceFromFiveEventsInAnyOrder) {
  World world;
  world.apply(R"(
id: five
start:
  type: eventsAnd
  correlate: [round]
  events: [{type: e0}, {type: e1}, {type: e2}, {type: e3}, {type: e4}]
states:
- {id: done, type: noop}
)");
  std::vector<int> order(5);
  std::iota(order.begin(), order.end(), 0);
  int round = 0;
  do {
    for (const int type : order) {
      world.publish(fmt::format("e{}", type), fmt::format("{}-{}", round, type), type,
                    {{"round", round}});
    }
    ++round;
  } while (std::next_permutation(order.begin(), order.end()));
  world.run_until_idle();

  const auto instances = world.instances();
  ASSERT_THAT(instances, SizeIs(120));
  for (const Json& instance : instances) {
    EXPECT_EQ(instance["input"], (Json{{"e0", 0}, {"e1", 1}, {"e2", 2}, {"e3", 3}, {"e4", 4}}));
  }
  for (const auto& [key, value] : world.rows()) {
    EXPECT_FALSE(key.starts_with("groups/")) << "no event waits";
  }
}

TEST(StartByEventsAnd, PassesAnArrayOfEventsIfTwoEntriesHaveTheSameType) {
  World world;
  world.apply(R"(
id: twins
start:
  type: eventsAnd
  events: [{type: t}, {type: u}, {type: t}]
states:
- {id: done, type: noop}
)");
  for (int i = 1; i <= 4; ++i) world.publish("t", std::to_string(i), i);
  world.publish("u", "u1", "u");
  world.run_until_idle();
  auto instances = world.instances();
  ASSERT_THAT(instances, SizeIs(1)) << "one event fills one entry";
  EXPECT_EQ(instances[0]["input"], (Json{{"t", {1, 2}}, {"u", "u"}}));
  world.publish("u", "u2", "v");
  world.run_until_idle();
  instances = world.instances();
  ASSERT_THAT(instances, SizeIs(2));
  EXPECT_EQ(instances[1]["input"], (Json{{"t", {3, 4}}, {"u", "v"}}));
}

TEST(StartByEventsAnd, DropsAnEventAtTheEndOfItsLifespan) {
  World world;
  world.apply(R"(
id: short
start:
  type: eventsAnd
  lifespan: PT10S
  events: [{type: a}, {type: b}]
states:
- {id: done, type: noop}
)");
  world.publish("a", "1", 1);
  world.run_for(std::chrono::seconds(9));
  world.publish("a", "2", 2);
  // The first event expires, the second has nine seconds left.
  world.run_for(std::chrono::seconds(1));
  world.restart();
  world.run_for(std::chrono::seconds(8));
  world.publish("b", "3", 3);
  world.run_until_idle();
  ASSERT_THAT(world.instances(), SizeIs(1));
  EXPECT_EQ(world.instances()[0]["input"], (Json{{"a", 2}, {"b", 3}}));

  world.publish("b", "4", 4);
  world.run_for(std::chrono::seconds(10));
  world.publish("a", "5", 5);
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(1));
}

/// The page of the list of groups that begins at the cursor.
Json groups_of(World& world, size_t limit = 10, std::string_view cursor = "") {
  const Result<Snapshot> view = Snapshot::take(world.environment());
  if (!view) return nullptr;
  return world.queries().groups(*view, "default", limit, cursor).value_or(nullptr);
}

TEST(StartByEventsAnd, CountsUncorrelatedAndExpiredEvents) {
  World world;
  world.apply(R"(
id: short
start:
  type: eventsAnd
  correlate: [order]
  lifespan: PT10S
  events: [{type: a}, {type: b}]
states:
- {id: done, type: noop}
)");
  world.publish("a", "1", 1);
  world.publish("a", "2", 1, {{"order", "o-1"}});
  world.run_until_idle();
  EXPECT_EQ(world.metric("millrace_group_events_uncorrelated_total"), 1);
  EXPECT_EQ(world.metric("millrace_group_events_expired_total"), 0);
  world.run_for(std::chrono::seconds(10));
  EXPECT_EQ(world.metric("millrace_group_events_expired_total"), 1);
  EXPECT_THAT(groups_of(world)["items"], IsEmpty());
}

TEST(StartByEventsAnd, ListsIncompleteGroups) {
  World world;
  world.apply(kEventPairs);
  world.apply(R"(
id: short
start:
  type: eventsAnd
  lifespan: PT10S
  events: [{type: a}, {type: b}]
states:
- {id: done, type: noop}
)");
  const TimePoint begin = world.clock.now();
  world.publish("paid", "1", 1, {{"order", "o-1"}});
  world.publish("paid", "2", 1, {{"order", "o-1"}});
  world.publish("packed", "3", 1, {{"order", "o-2"}});
  world.publish("a", "4", 1);
  world.run_until_idle();

  std::vector<Json> items;
  Json cursor = "";
  do {  // pages of one item
    const Json page = groups_of(world, 1, cursor.get<std::string>());
    for (const Json& item : page["items"]) items.push_back(item);
    cursor = page["next"];
  } while (cursor.is_string());
  ASSERT_THAT(items, SizeIs(3));
  std::sort(items.begin(), items.end(),
            [](const Json& a, const Json& b) { return dump_json(a) < dump_json(b); });
  const auto entries = [](const char* first, int n, const char* second, int m) {
    return Json{{{"type", first}, {"waiting", n}}, {{"type", second}, {"waiting", m}}};
  };
  for (Json& item : items) {
    const std::string workflow = item.at("workflow");
    EXPECT_TRUE(item.at("id").get<std::string>().starts_with(workflow + ":")) << item;
    item.erase("id");
    for (Json& entry : item["entries"]) entry.erase("first");
  }
  EXPECT_EQ(items[0], (Json{{"workflow", "pairs"},
                            {"correlate", {{"order", "o-1"}}},
                            {"entries", entries("paid", 2, "packed", 0)}}));
  EXPECT_EQ(items[1], (Json{{"workflow", "pairs"},
                            {"correlate", {{"order", "o-2"}}},
                            {"entries", entries("paid", 0, "packed", 1)}}));
  EXPECT_EQ(items[2], (Json{{"workflow", "short"},
                            {"correlate", Json::object()},
                            {"entries", entries("a", 1, "b", 0)},
                            {"expiresAt", format_rfc3339(begin + std::chrono::seconds(10))}}));
}

TEST(StartByEventsAnd, RefusesAMalformedPageCursorForTheListOfGroups) {
  World world;
  const Result<Snapshot> view = Snapshot::take(world.environment());
  ASSERT_TRUE(view);
  const auto page = world.queries().groups(*view, "default", 10, "nonsense");
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().code, "cursor.malformed");
}

TEST(StartByEventsAnd, AcceptsAnEventThatCameWithinALifespanAndIsReadAfterIt) {
  World world;
  world.apply(R"(
id: short
start:
  type: eventsAnd
  lifespan: PT10S
  events: [{type: a}, {type: b}]
states:
- {id: done, type: noop}
)");
  world.publish("a", "1", 1);
  world.run_until_idle();
  world.crash();
  world.clock.advance(std::chrono::seconds(5));
  world.publish("b", "2", 2);
  world.clock.advance(std::chrono::hours(1));
  world.recover();
  world.processor().turn();  // this turn comes before the connection to the broker
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(1));
}

TEST(StartByEventsAnd, RemovesTheTimersOfUsedEvents) {
  World world;
  world.apply(R"(
id: short
start:
  type: eventsAnd
  lifespan: PT1H
  events: [{type: a}, {type: b}]
states:
- {id: done, type: noop}
)");
  world.publish("a", "1", 1);
  world.run_until_idle();
  EXPECT_EQ(world.metric("millrace_timers"), 1);
  world.publish("b", "2", 1);
  world.run_until_idle();
  EXPECT_EQ(world.metric("millrace_timers"), 0);
}

TEST(StartByEventsAnd, KeepsItsGroupsIfANewRevisionHasTheSameEntriesAndCorrelation) {
  World world;
  world.apply(kEventPairs);
  world.publish("paid", "1", 1, {{"order", "A"}});
  world.run_until_idle();
  const Json answer = world.apply(R"(
id: pairs
start:
  type: eventsAnd
  lifespan: PT1H
  correlate: [order]
  events: [{type: paid}, {type: packed}]
states:
- {id: otherwise, type: noop}
)");
  EXPECT_EQ(answer, (Json{{"id", "pairs"}, {"revision", 2}, {"changed", true}}));
  world.publish("packed", "2", 2, {{"order", "A"}});
  world.run_until_idle();
  ASSERT_THAT(world.instances(), SizeIs(1));
  EXPECT_EQ(world.instances()[0]["revision"], 2);
  EXPECT_EQ(world.instances()[0]["input"], (Json{{"paid", 1}, {"packed", 2}}));
  EXPECT_THAT(world.dead_letters(), IsEmpty());
}

TEST(StartByEventsAnd, ClosesItsGroupsIfANewRevisionChangesItsEntriesCorrelationOrType) {
  const struct {
    const char* what;
    const char* start;
  } rows[] = {
      {"another correlation",
       "{type: eventsAnd, correlate: [customer], events: [{type: paid}, {type: packed}]}"},
      {"no correlation", "{type: eventsAnd, events: [{type: paid}, {type: packed}]}"},
      {"another order of events",
       "{type: eventsAnd, correlate: [order], events: [{type: packed}, {type: paid}]}"},
      {"another filter",
       "{type: eventsAnd, correlate: [order], events: [{type: paid, context: {a: b}}, {type: "
       "packed}]}"},
      {"another kind of start", "{type: eventsXor, events: [{type: other}]}"},
      {"no start", "{type: default}"},
  };
  for (const auto& row : rows) {
    World world;
    world.apply(kEventPairs);
    world.publish("paid", "1", 1, {{"order", "A"}});
    world.publish("paid", "2", 2, {{"order", "A"}});
    world.publish("packed", "3", 3, {{"order", "B"}});
    world.run_until_idle();
    world.apply(fmt::format("id: pairs\nstart: {}\nstates: [{{id: done, type: noop}}]", row.start));
    EXPECT_THAT(world.dead_letters(),
                ElementsAre("start.group_closed", "start.group_closed", "start.group_closed"))
        << row.what;
    EXPECT_EQ(world.metric("millrace_group_events_closed_total"), 3) << row.what;
    world.restart();
    world.publish("packed", "4", 4, {{"order", "A"}, {"customer", "A"}});
    world.run_until_idle();
    EXPECT_THAT(world.instances(), IsEmpty()) << row.what;
  }
}

TEST(StartByEventsAnd, WritesADeadLetterForEachClosedGroupThatHasTheEvent) {
  World world;
  for (const char* id : {"one", "two"}) {
    world.apply(
        fmt::format("id: {}\nstart: {{type: eventsAnd, events: [{{type: a}}, {{type: b}}]}}\n"
                    "states: [{{id: done, type: noop}}]",
                    id));
  }
  world.publish("a", "1", 1);
  world.run_until_idle();
  world.must(DeleteWorkflow{.ns = "default", .id = "one"});
  world.must(DeleteWorkflow{.ns = "default", .id = "two"});
  EXPECT_THAT(world.dead_letters(), SizeIs(2));
}

}  // namespace
}  // namespace millrace
