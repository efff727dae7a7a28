// Queries for listeners: the first page begins with the listeners of starts; then follow the
// listeners of instances, newest instance first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/service/page.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class ListenerQueriesTest : public QueryTest {
 protected:
  static constexpr const char* kWaits = R"(
id: waits
states:
- {id: wait, type: eventXor, events: [{event: {type: paid}}, {event: {type: gone}}]}
)";
  static constexpr const char* kStarts = R"(
id: starts
start: {type: eventsXor, events: [{type: left, context: {key: k1}}, {type: right}]}
states:
- {id: end, type: noop}
)";

  ListenerQueriesTest() : waits(apply(kWaits)) {}

  /// An instance that listens for events of these types.
  Instance listening(uint8_t number, const std::vector<std::string>& types) const {
    Instance instance = waiting_instance(waits, number);
    for (const std::string& type : types) {
      instance.listeners.push_back({.entry = 0, .filter = {.type = type}});
    }
    return instance;
  }
  static Ask list(size_t limit, std::string cursor = "", std::string ns = "default") {
    return [=](Queries& queries, const View& view) {
      return queries.listeners(view, ns, {.limit = limit, .cursor = cursor});
    };
  }
  Json items() { return answer(list(100))["items"]; }
  /// The event types of the listeners on each page of that size.
  std::vector<std::vector<std::string>> types(size_t limit) {
    return pages("type", limit, [](auto& queries, auto& view, size_t most, auto cursor) {
      return queries.listeners(view, "default", {.limit = most, .cursor = std::string(cursor)});
    });
  }

  /// The event types of the listeners that a filter shows.
  std::vector<std::string> types_of(const ListenerFilter& filter) {
    std::vector<std::string> found;
    const Json items = answer([&](Queries& queries, const View& view) {
      return queries.listeners(view, "default", filter);
    })["items"];
    for (const Json& item : items) found.push_back(item["type"]);
    return found;
  }

  const WorkflowNumber waits;
};

TEST_F(ListenerQueriesTest, ListAListenerForEachEntryOfAStart) {
  apply(kStarts);
  EXPECT_EQ(answer(list(100)), Json::parse(R"({"items": [
    {"kind": "start", "workflow": "starts", "type": "left", "context": {"key": {"pattern": "k1"}}},
    {"kind": "start", "workflow": "starts", "type": "right", "context": {}}], "next": null,
    "complete": true, "looked": 0})"));
}

TEST_F(ListenerQueriesTest, ListOnlyTheListenersThatAreAskedFor) {
  using Kind = ListenerFilter::Kind;
  apply(kStarts);
  Instance equal = listening(1, {"paid", "gone"});
  equal.listeners[0].filter.predicates = {
      {.attribute = "order", .kind = Predicate::Kind::kEquals, .text = "o1"}};
  store(equal);
  Instance like = listening(2, {"sent"});
  like.listeners[0].filter.predicates = {
      {.attribute = "order", .kind = Predicate::Kind::kPattern, .text = "^o"}};
  store(like);
  EXPECT_THAT(types_of({.kind = Kind::kStart}), ElementsAre("left", "right"));
  EXPECT_THAT(types_of({.kind = Kind::kInstance}), ElementsAre("sent", "paid", "gone"));
  EXPECT_THAT(types_of({.type = "gone"}), ElementsAre("gone"));
  EXPECT_THAT(types_of({.type = "right"}), ElementsAre("right"));
  EXPECT_THAT(types_of({.workflow = "starts"}), ElementsAre("left", "right"));
  EXPECT_THAT(types_of({.workflow = "waits"}), ElementsAre("sent", "paid", "gone"));
  EXPECT_THAT(types_of({.attribute = "order"}), ElementsAre("sent", "paid"));
  EXPECT_THAT(types_of({.attribute = "order", .value = "o1"}), ElementsAre("sent", "paid"));
  EXPECT_THAT(types_of({.attribute = "order", .value = "o2"}), ElementsAre("sent"));
  EXPECT_THAT(types_of({.attribute = "order", .value = "p1"}), IsEmpty());
  EXPECT_THAT(types_of({.attribute = "key", .value = "k1"}), ElementsAre("left"));
  const ListenerFilter unknown{.workflow = "none"};
  EXPECT_EQ(outcome([&](Queries& queries, const View& view) {
              return queries.listeners(view, "default", unknown);
            }),
            "workflow.not_found");
}

TEST_F(ListenerQueriesTest, LookOnlyAtTheInstancesThatMayAskForTheValue) {
  for (const uint8_t number : {1, 2, 3, 4, 5}) {
    Instance instance = listening(number, {std::to_string(number)});
    instance.listeners[0].filter.predicates = {
        {.attribute = "order", .kind = Predicate::Kind::kEquals, .text = "o1"}};
    if (number == 3) {
      instance.listeners.clear();
      instance = ended(instance, InstanceStatus::kComplete);
    }
    store(instance);
  }
  std::vector<InstanceId> asking = {numbered_id(4), numbered_id(3), numbered_id(2), numbered_id(1)};
  const auto page = [&](size_t limit, const std::string& cursor, const std::string& value) {
    return answer([&](Queries& queries, const View& view) {
      const ListenerFilter filter{
          .attribute = "order", .value = value, .limit = limit, .cursor = cursor};
      return queries.listeners(view, "default", filter, &asking);
    });
  };
  const Json first = page(2, "", "o1");
  ASSERT_EQ(first["items"].size(), 2U);
  EXPECT_EQ(first["items"][0]["type"], "4");
  EXPECT_EQ(first["items"][1]["type"], "2") << "the instance 3 has ended";
  EXPECT_EQ(first["complete"], true);
  const Json second = page(2, first["next"].get<std::string>(), "o1");
  ASSERT_EQ(second["items"].size(), 1U);
  EXPECT_EQ(second["items"][0]["type"], "1");
  EXPECT_EQ(second["next"], nullptr);
  EXPECT_THAT(page(9, "", "o2")["items"], IsEmpty());
  asking.clear();
  EXPECT_EQ(page(9, "", "o1")["looked"], 0);
}

TEST_F(ListenerQueriesTest, DoNotFindAHiddenConditionByItsValue) {
  Instance instance = listening(1, {"paid"});
  instance.sealed = true;
  instance.listeners[0].filter.predicates = {
      {.attribute = "order", .kind = Predicate::Kind::kEquals, .text = "4711"}};
  store(instance);
  EXPECT_THAT(types_of({.attribute = "order"}), ElementsAre("paid"));
  EXPECT_THAT(types_of({.attribute = "order", .value = "4711"}), IsEmpty());
  EXPECT_THAT(types_of({.attribute = "order", .value = "(sealed)"}), IsEmpty());
}

TEST_F(ListenerQueriesTest, EndAPageAfterATimeAndContinueBehindIt) {
  for (const uint8_t number : {1, 2, 3}) store(listening(number, {std::to_string(number)}));
  clock.let_looks_take(std::chrono::milliseconds(25));
  EXPECT_THAT(types(100), ElementsAre(ElementsAre("3", "2"), ElementsAre("1")));
  EXPECT_EQ(answer(list(100))["complete"], true) << "the next page goes on";
  EXPECT_EQ(answer(list(100))["looked"], 2);
}

TEST_F(ListenerQueriesTest, ListTheListenersOfTheStartOfTheNewestRevisionOnly) {
  apply(kStarts);
  apply("id: starts\nstart: {type: event, event: {type: up}}\nstates:\n- {id: a, type: noop}\n");
  EXPECT_THAT(types(100), ElementsAre(ElementsAre("up")));
  apply("id: starts\nstates:\n- {id: a, type: noop}\n");
  EXPECT_THAT(items(), IsEmpty());
}

TEST_F(ListenerQueriesTest, ListTheListenersOfAnInstance) {
  Instance instance = listening(1, {"paid", "gone"});
  instance.listeners[0].filter.predicates = {
      {.attribute = "order", .kind = Predicate::Kind::kEquals, .text = "o1"}};
  instance.timers = {{TimerKind::kStateTimeout, now + seconds(5)}};
  store(instance);
  store(waiting_instance(waits, 2));  // has no listeners
  EXPECT_EQ(items(), Json::parse(R"([
    {"kind": "instance", "workflow": "waits", "state": "wait", "type": "paid",
     "instance": "00000000-0000-0000-0000-000000000001",
     "deadline": "2023-11-14T22:13:25.000Z", "context": {"order": {"equals": "o1"}}},
    {"kind": "instance", "workflow": "waits", "state": "wait", "type": "gone",
     "instance": "00000000-0000-0000-0000-000000000001",
     "deadline": "2023-11-14T22:13:25.000Z", "context": {}}])"));
}

TEST_F(ListenerQueriesTest, WithholdTheFilterValuesOfASealedInstance) {
  Instance instance = listening(1, {"paid"});
  instance.sealed = true;
  instance.listeners[0].filter.predicates = {
      {.attribute = "order", .kind = Predicate::Kind::kPattern, .text = "4711"}};
  store(instance);
  EXPECT_EQ(items()[0]["context"], (Json{{"order", {{"pattern", "(sealed)"}}}}));
}

TEST_F(ListenerQueriesTest, ListTheListenersOfStartsThenThoseOfInstancesFromTheNewest) {
  apply(kStarts);
  store(listening(1, {"one"}));
  store(listening(2, {"two"}));
  store(listening(3, {"three"}));
  EXPECT_THAT(types(100), ElementsAre(ElementsAre("left", "right", "three", "two", "one")));
  EXPECT_THAT(types(3),
              ElementsAre(ElementsAre("left", "right", "three"), ElementsAre("two", "one")));
}

TEST_F(ListenerQueriesTest, HoldTheLimitOfAPageWithinAStartAndWithinAnInstance) {
  apply(kStarts);
  apply("id: third\nstart: {type: event, event: {type: up}}\nstates:\n- {id: a, type: noop}\n");
  store(listening(1, {"one", "uno", "un"}));
  store(listening(2, {"two"}));
  EXPECT_THAT(types(1), ElementsAre(ElementsAre("left"), ElementsAre("right"), ElementsAre("up"),
                                    ElementsAre("two"), ElementsAre("one"), ElementsAre("uno"),
                                    ElementsAre("un")));
  EXPECT_THAT(types(2), ElementsAre(ElementsAre("left", "right"), ElementsAre("up", "two"),
                                    ElementsAre("one", "uno"), ElementsAre("un")));
  EXPECT_THAT(types(5), ElementsAre(ElementsAre("left", "right", "up", "two", "one"),
                                    ElementsAre("uno", "un")));
}

TEST_F(ListenerQueriesTest, HoldTheLimitOfAPageUnderAFilter) {
  apply(kStarts);
  apply("id: after\nstart: {type: event, event: {type: right}}\nstates:\n- {id: a, type: noop}\n");
  apply("id: third\nstart: {type: event, event: {type: up}}\nstates:\n- {id: a, type: noop}\n");
  store(listening(1, {"right", "one", "right"}));
  const auto listed = [&](const ListenerFilter& filter, const std::string& key) {
    return pages(key, 1, [&](auto& queries, auto& view, size_t most, auto cursor) {
      ListenerFilter paged = filter;
      paged.limit = most;
      paged.cursor = cursor;
      return queries.listeners(view, "default", paged);
    });
  };
  using Kind = ListenerFilter::Kind;
  EXPECT_THAT(listed({.kind = Kind::kStart}, "type"),
              ElementsAre(ElementsAre("right"), ElementsAre("left"), ElementsAre("right"),
                          ElementsAre("up")));
  EXPECT_THAT(listed({.kind = Kind::kStart, .workflow = "starts"}, "type"),
              ElementsAre(ElementsAre("left"), ElementsAre("right")));
  EXPECT_THAT(listed({.type = "right"}, "workflow"),
              ElementsAre(ElementsAre("after"), ElementsAre("starts"), ElementsAre("waits"),
                          ElementsAre("waits")));
}

TEST_F(ListenerQueriesTest, ContinueBehindAWorkflowOrAnInstanceThatIsGone) {
  apply(kStarts);
  store(listening(1, {"one"}));
  store(listening(3, {"three"}));
  const std::string gone = to_string(numbered_id(2));
  const std::pair<std::string, std::vector<std::string>> rows[] = {
      {"starts/aa/1", {"left", "right", "three", "one"}},
      {"starts/starts/1", {"right", "three", "one"}},
      {"starts/starts/9", {"three", "one"}},
      {"starts/starts", {"three", "one"}},
      {gone + "/1", {"one"}},
      {to_string(numbered_id(3)) + "/9", {"one"}},
  };
  for (const auto& [cursor, expected] : rows) {
    EXPECT_EQ(types_of({.limit = 100, .cursor = cursor}), expected) << cursor;
  }
}

TEST_F(ListenerQueriesTest, EndAPageOfStartsForWhichManyDefinitionsWereRead) {
  const std::string comment = "#" + std::string(Page::kMostBytes / 2, 'x');
  for (const char* const id : {"a", "b", "c"}) {
    apply(
        fmt::format("{}\nid: {}\nstart: {{type: event, event: {{type: of-{}}}}}\n"
                    "states:\n- {{id: end, type: noop}}\n",
                    comment, id, id));
  }
  store(listening(1, {"one"}));
  EXPECT_THAT(types(100), ElementsAre(ElementsAre("of-a", "of-b"), ElementsAre("of-c", "one")));
}

TEST_F(ListenerQueriesTest, NameANextPageOnlyIfAnotherInstanceListens) {
  store(waiting_instance(waits, 1));
  store(listening(2, {"two"}));
  EXPECT_EQ(answer(list(1))["next"], nullptr);
  store(listening(1, {"one"}));
  EXPECT_EQ(answer(list(1))["next"], to_string(numbered_id(2)));
}

TEST_F(ListenerQueriesTest, SkipADamagedInstance) {
  for (const uint8_t number : {1, 2, 3}) store(listening(number, {std::to_string(number)}));
  damage(Table::kLive, head_key(listening(2, {})));
  Instance elsewhere = listening(3, {"3"});
  elsewhere.state = 1;
  store(elsewhere);
  EXPECT_THAT(types(1), ElementsAre(ElementsAre("1")));
}

TEST_F(ListenerQueriesTest, ListTheListenersOfTheNamespaceOnly) {
  Instance other = listening(1, {"other"});
  other.ns = create_namespace("shop");
  store(other);
  EXPECT_THAT(items(), IsEmpty());
  EXPECT_EQ(answer(list(100, "", "shop"))["items"].size(), 1U);
}

TEST_F(ListenerQueriesTest, FailForNamesThatDoNotExist) {
  EXPECT_EQ(outcome(list(1, "", "none")), "namespace.not_found");
  EXPECT_EQ(outcome(list(1, "nonsense")), "id.malformed");
  for (const char* const cursor : {"starts/", "starts/a b", "starts/starts/0", "starts/starts/x",
                                   "00000000-0000-0000-0000-000000000001/"}) {
    EXPECT_EQ(outcome(list(1, cursor)), "cursor.malformed") << cursor;
  }
}

TEST_F(ListenerQueriesTest, FailOnADamagedDefinitionOfAStart) {
  store(listening(1, {"one"}));
  const Revision starts{apply(kStarts), 1};
  damage(Table::kDefinitions, definition_key(starts));
  EXPECT_EQ(outcome(list(100)), kDamagedRow);
  EXPECT_EQ(outcome(list(100, to_string(numbered_id(9)))), "found")
      << "the pages after the first one have no starts";
}

TEST_F(ListenerQueriesTest, FailWhenAReadFails) {
  apply(kStarts);
  for (const uint8_t number : {1, 2, 3}) store(listening(number, {"paid", "gone"}));
  store(ended(waiting_instance(waits, 4), InstanceStatus::kComplete));
  expect_each_read_to_count(list(100));
  expect_each_read_to_count(list(1));
  expect_each_read_to_count(list(1, "starts/starts/1"));
  expect_each_read_to_count(list(1, to_string(numbered_id(3))));
  expect_each_read_to_count(list(1, to_string(numbered_id(3)) + "/1"));
}

}  // namespace
}  // namespace millrace
