// Queries for the groups of eventsAnd starts: their correlation, the events that they wait for, and
// pages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/json_format.h"
#include "orchestrator/batch/group_id.h"
#include "orchestrator/service/page.h"
#include "orchestrator/store/rows/group_rows.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class GroupQueriesTest : public QueryTest {
 protected:
  static constexpr const char* kPairs = R"(
id: pairs
start: {type: eventsAnd, correlate: [key], lifespan: PT1H, events: [{type: left}, {type: right}]}
states:
- {id: end, type: noop}
)";

  GroupQueriesTest() : pairs(apply(kPairs)) {}

  static Fingerprint group(uint8_t number) { return {number}; }
  /// The group as it is written in a cursor.
  static std::string text_of(const Fingerprint& one) { return to_string(InstanceId{one}); }

  /// Stores an event that waits in a group, without changing the counts.
  void add_event(const Fingerprint& to, uint16_t entry, std::optional<TimePoint> expires,
                 const std::string& key = "k1") {
    Event event{.id = "1", .source = "/s", .type = "t"};
    event.extensions = {{"key", key}};
    write_grouped(*tx, {.queue = {.workflow = pairs, .group = to, .entry = entry},
                        .number = ++last_event,
                        .record = {.position = {.stream = 1, .sequence = last_event},
                                   .expires = expires,
                                   .event = encode_json_event(event)}});
    commit();
  }
  void add_counts(WorkflowNumber workflow, const Fingerprint& to, std::vector<uint32_t> waiting) {
    write_counts(*tx, workflow, to, waiting);
    commit();
  }
  /// Stores a group of `pairs` with one event.
  void add_group(uint8_t number) {
    add_counts(pairs, group(number), {1, 0});
    add_event(group(number), 0, std::nullopt, "k" + std::to_string(number));
  }
  static std::string counts_key(WorkflowNumber workflow, const Fingerprint& of) {
    Writer key;
    key.u8(static_cast<uint8_t>(GroupRow::kCounts));
    key.raw(rows::workflow_prefix(workflow));
    key.id(of);
    return key.take();
  }

  static Ask list(size_t limit, std::string cursor = "", std::string ns = "default") {
    return
        [=](Queries& queries, const View& view) { return queries.groups(view, ns, limit, cursor); };
  }
  Json items() { return answer(list(100))["items"]; }
  /// The correlated keys of a page.
  std::vector<std::string> keys(const Json& page) {
    std::vector<std::string> found;
    for (const Json& item : page["items"]) found.push_back(item["correlate"].value("key", "none"));
    return found;
  }

  const WorkflowNumber pairs;
  uint64_t last_event = 0;
};

TEST_F(GroupQueriesTest, ShowTheCorrelationAndTheNumberOfEventsOfEachEntry) {
  add_counts(pairs, group(7), {2, 0});
  add_event(group(7), 0, now + seconds(9));
  add_event(group(7), 0, now + seconds(3));
  EXPECT_EQ(answer(list(100)), Json::parse(
                                   R"({"items": [
    {"id": "pairs:)" + to_hex(group(7)) +
                                   R"(", "workflow": "pairs", "correlate": {"key": "k1"},
     "expiresAt": "2023-11-14T22:13:29.000Z",
     "entries": [{"type": "left", "waiting": 2, "first": {"sequence": 1, "id": "1"}},
                 {"type": "right", "waiting": 0}]}],
    "next": null})"))
      << "the expiry is that of the event that came first";
}

TEST_F(GroupQueriesTest, ShowTheEarliestExpiryOfTheEntries) {
  add_counts(pairs, group(7), {1, 1});
  add_event(group(7), 0, now + seconds(9));
  add_event(group(7), 1, now + seconds(3));
  EXPECT_EQ(items()[0]["expiresAt"], format_rfc3339(now + seconds(3)));
}

TEST_F(GroupQueriesTest, ShowAnEmptyCorrelationAndNoExpiryForAStartWithoutThem) {
  const WorkflowNumber plain = apply(
      "id: plain\nstart: {type: eventsAnd, events: [{type: a}, {type: b}]}\n"
      "states:\n- {id: end, type: noop}\n");
  add_counts(plain, group(7), {0, 3});
  EXPECT_EQ(items(), Json::parse(R"([{"id": "plain:)" + to_hex(group(7)) +
                                 R"(", "workflow": "plain", "correlate": {},
    "entries": [{"type": "a", "waiting": 0}, {"type": "b", "waiting": 3}]}])"));
}

TEST_F(GroupQueriesTest, EndAPageAtItsLimit) {
  const auto sizes = [&](size_t limit) {
    std::vector<size_t> found;
    for (const auto& page :
         pages("workflow", limit, [](auto&queries, auto&view, size_t most, auto at) {
           return queries.groups(view, "default", most, at);
         })) {
      found.push_back(page.size());
    }
    return found;
  };
  EXPECT_THAT(sizes(1), ElementsAre(0));
  for (const uint8_t number : {1, 2, 3}) add_group(number);
  EXPECT_THAT(sizes(1), ElementsAre(1, 1, 1));
  EXPECT_THAT(sizes(2), ElementsAre(2, 1));
  EXPECT_THAT(sizes(3), ElementsAre(3));
}

TEST_F(GroupQueriesTest, SortGroupsByWorkflowAndFingerprintAcrossPages) {
  const WorkflowNumber other = apply(
      "id: others\nstart: {type: eventsAnd, events: [{type: a}, {type: b}]}\n"
      "states:\n- {id: end, type: noop}\n");
  apply("id: p\nstates:\n- {id: end, type: noop}\n");
  add_counts(other, group(9), {1, 0});
  for (const uint8_t number : {3, 1, 2}) add_group(number);
  const Json first = answer(list(2));
  EXPECT_THAT(keys(first), ElementsAre("none", "k1"));
  EXPECT_EQ(first["next"], "pairs/" + text_of(group(1)));
  EXPECT_THAT(keys(answer(list(2, first["next"]))), ElementsAre("k2", "k3"));
  EXPECT_EQ(answer(list(1))["next"], "others/" + text_of(group(9)));
}

TEST_F(GroupQueriesTest, ContinueAfterAPageCursorWhoseGroupOrWorkflowIsGone) {
  for (const uint8_t number : {1, 3}) add_group(number);
  EXPECT_THAT(keys(answer(list(9, "pairs/" + text_of(group(2))))), ElementsAre("k3"));
  EXPECT_THAT(keys(answer(list(9, "deleted/" + text_of(group(2))))), ElementsAre("k1", "k3"));
  EXPECT_THAT(keys(answer(list(9, "quitted/" + text_of(group(2))))), IsEmpty());
}

TEST_F(GroupQueriesTest, EndAPageForWhichManyDefinitionsWereRead) {
  const std::string comment = "#" + std::string(Page::kMostBytes / 2, 'x');
  for (const char* const id : {"a", "b"}) {
    apply(fmt::format("{}\nid: {}\nstates:\n- {{id: end, type: noop}}\n", comment, id));
  }
  add_group(1);
  const Json first = answer(list(9));
  EXPECT_THAT(keys(first), IsEmpty());
  EXPECT_THAT(keys(answer(list(9, first["next"]))), ElementsAre("k1"));
}

TEST_F(GroupQueriesTest, SelectGroupsByTheirIdWorkflowAndValues) {
  const WorkflowNumber other = apply(
      "id: others\nstart: {type: eventsAnd, events: [{type: a}, {type: b}]}\n"
      "states:\n- {id: end, type: noop}\n");
  add_counts(other, group(9), {1, 0});
  for (const uint8_t number : {1, 2, 3}) add_group(number);
  const auto select = [&](const GroupFilter& filter, size_t limit = 9) {
    return answer([=](Queries& queries, const View& view) {
      return queries.groups(view, "default", limit, "", filter);
    });
  };
  EXPECT_THAT(keys(select({.workflow = "others"})), ElementsAre("none"));
  EXPECT_THAT(keys(select({.workflow = "pairs"})), ElementsAre("k1", "k2", "k3"));
  EXPECT_THAT(keys(select({.correlate = {{"key", "k2"}}})), ElementsAre("k2"));
  EXPECT_THAT(keys(select({.correlate = {{"key", "k2"}}}, 1)), ElementsAre("k2"));
  EXPECT_THAT(keys(select({.correlate = {{"key", "k9"}}})), IsEmpty());
  EXPECT_THAT(keys(select({.correlate = {{"colour", "k2"}}})), IsEmpty());
  const std::string id = to_string(GroupId{"pairs", group(3)});
  EXPECT_THAT(keys(select({.id = id})), ElementsAre("k3"));
  EXPECT_THAT(keys(select({.id = id, .workflow = "others"})), IsEmpty());
  EXPECT_THAT(keys(select({.id = id, .correlate = {{"key", "k1"}}})), IsEmpty());
  EXPECT_THAT(keys(select({.id = to_string(GroupId{"pairs", group(4)})})), IsEmpty());
  EXPECT_THAT(keys(select({.id = "nonsense"})), IsEmpty());
  EXPECT_EQ(outcome([](Queries& queries, const View& view) {
              return queries.groups(view, "default", 9, "", {.workflow = "none"});
            }),
            "workflow.not_found");
}

TEST_F(GroupQueriesTest, RefuseAMalformedPageCursor) {
  add_group(1);
  const std::string id = text_of(group(1));
  for (const std::string& cursor : {std::string("nonsense"), std::string("/"),
                                    std::string("pairs/"), "pairs/" + id + "0", "pairs" + id, id}) {
    EXPECT_EQ(outcome(list(9, cursor)), "cursor.malformed") << cursor;
  }
  EXPECT_EQ(outcome(list(9, "/" + id)), "found");
  EXPECT_EQ(outcome(list(9, "", "none")), "namespace.not_found");
}

TEST_F(GroupQueriesTest, ListTheGroupsOfTheNamespaceOnly) {
  add_group(1);
  create_namespace("shop");
  EXPECT_THAT(answer(list(9, "", "shop"))["items"], IsEmpty());
}

TEST_F(GroupQueriesTest, ShowOnlyEntriesThatBothTheStartAndTheStoredCountsHave) {
  add_counts(pairs, group(7), {1, 1, 1});
  EXPECT_EQ(items()[0]["entries"].size(), 2U);
  add_counts(pairs, group(7), {1});
  EXPECT_EQ(items()[0]["entries"].size(), 1U);
}

TEST_F(GroupQueriesTest, SkipADamagedEvent) {
  add_counts(pairs, group(7), {2, 0});
  write_grouped(*tx, {.queue = {.workflow = pairs, .group = group(7)},
                      .number = ++last_event,
                      .record = {.expires = now, .event = "{}"}});
  commit();
  add_event(group(7), 0, now + seconds(3), "k2");
  EXPECT_EQ(items()[0]["correlate"], (Json{{"key", "k2"}}));
  EXPECT_EQ(items()[0]["expiresAt"], format_rfc3339(now + seconds(3)));
}

TEST_F(GroupQueriesTest, FailOnDamagedCountsAndOnAMissingDefinition) {
  add_group(1);
  damage(Table::kGroups, counts_key(pairs, group(2)));
  EXPECT_EQ(outcome(list(9)), kDamagedRow);
  drop(Table::kGroups, counts_key(pairs, group(2)));
  EXPECT_EQ(outcome(list(9)), "found");
  drop(Table::kDefinitions, definition_key({pairs, 1}));
  EXPECT_EQ(outcome(list(9)), kDamagedRow);
}

TEST_F(GroupQueriesTest, FailWhenAReadFails) {
  for (const uint8_t number : {1, 2}) add_group(number);
  expect_each_read_to_count(list(9));
  expect_each_read_to_count(list(1));
  expect_each_read_to_count(list(1, "pairs/" + text_of(group(1))));
}

}  // namespace
}  // namespace millrace
