#include "base/bytes.h"
#include "cloudevents/json_format.h"
#include "matchers/correlation.h"
#include "orchestrator/store/rows/effect_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kPairsOfEvents = R"(
id: pairs
start: {type: eventsAnd, correlate: [key], lifespan: PT1H, events: [{type: left}, {type: right}]}
states:
- {id: a, type: noop}
)";

/// A group with one waiting event.
class CheckGroupsTest : public CheckTest {
 protected:
  CheckGroupsTest() {
    define(kPairsOfEvents);
    publish({.id = "1", .source = "/s", .type = "left", .extensions = {{"key", std::string("k")}}});
    waiting = *read_grouped(*tx, 1).value();
    Writer key;
    key.u8(static_cast<uint8_t>(GroupRow::kCounts));
    key.u32(static_cast<uint32_t>(waiting.queue.workflow));
    key.id(waiting.queue.group);
    counts_key = key.take();
    event_key = *tx->get(Table::kGroups, number_key);
  }
  Change counts(std::vector<uint32_t> numbers) {
    return
        [=, this](Transaction& in) { in.put(Table::kGroups, counts_key, encode_counts(numbers)); };
  }
  Change edit_event(const std::function<void(GroupedRecord&)>& change) {
    return [=, this](Transaction& in) {
      edit<GroupedRecord>(in, Table::kGroups, event_key, decode_grouped, encode, change);
    };
  }
  Change put(std::string key, std::string value) {
    return [=](Transaction& in) { in.put(Table::kGroups, key, value); };
  }
  Change erase(std::string key) {
    return [=](Transaction& in) { in.erase(Table::kGroups, key); };
  }
  std::string json_event(const std::string& type, const std::string& key) {
    return encode_json_event(
        {.id = "1", .source = "/s", .type = type, .extensions = {{"key", key}}});
  }

  GroupedEvent waiting;
  const std::string number_key = "\x03" + rows::key_of(uint64_t{1});
  std::string counts_key;
  std::string event_key;
};

TEST_F(CheckGroupsTest, HasNoFindingInAnUndamagedStore) {
  EXPECT_EQ(rows_of(Table::kGroups), 3U);
  expect_sound();
}

TEST_F(CheckGroupsTest, ReportsAFailedReadAsTheOnlyFinding) {
  EXPECT_GT(expect_each_failed_read_alone(), 30U);
}

TEST_F(CheckGroupsTest, ChecksTheFormOfEachKey) {
  expect_only("row.key groups/0x0461: the first byte of the key is not 1, 2 or 3", put("\x04"
                                                                                       "a",
                                                                                       "x"));
  expect_only("row.key groups/0x0161: the key is not a workflow and a group", put("\x01"
                                                                                  "a",
                                                                                  "x"));
  expect_only("the key is not a workflow, a group, an entry and a number", put("\x02"
                                                                               "a",
                                                                               "x"));
  expect_among("the key is not a workflow, a group, an entry and a number",
               put(event_key.substr(0, event_key.size() - 8) + std::string(8, '\0'), "x"));
  expect_only("the key is not a number", put("\x03"
                                             "a",
                                             "x"));
  expect_only("the key is not a number", put("\x03" + std::string(8, '\0'), "x"));
}

TEST_F(CheckGroupsTest, ChecksTheCountsAgainstTheWaitingEvents) {
  expect_only("group.counts groups/workflow 1 group ", counts({2, 0}));
  expect_among("the counts of the group are [2, 0], but [1, 0] events wait", counts({2, 0}));
  expect_among("each entry of the group has a waiting event, so it should have started an instance",
               counts({1, 1}));
  expect_among("no entry of the group has a waiting event", counts({0, 0}));
  expect_only("the group has 3 entries, but its workflow's start has 2", counts({1, 0, 0}));
  expect_only("row.record groups/workflow 1 group ", put(counts_key, "rubbish"));
  expect_among("workflow.missing groups/workflow 1 group ",
               [&](Transaction& in) { erase_workflow(in, ns, "pairs"); });
}

TEST_F(CheckGroupsTest, FindsAGroupOfAWorkflowWhoseStartIsOfAnotherKind) {
  const std::string text = "id: pairs\nstates: [{id: a, type: noop}]";
  Writer key;
  key.raw(rows::workflow_prefix(number_of("pairs")));
  key.u32(1);
  expect_only("the group has 2 entries, but its workflow's start has 0", [&](Transaction& in) {
    in.put(Table::kDefinitions, key.view(), encode(DefinitionRecord{now, text}));
  });
}

TEST_F(CheckGroupsTest, ChecksAnEventAgainstTheRowsThatReferToIt) {
  expect_only("group.event groups/workflow 1 group ", erase(number_key));
  expect_among("the row of the event's number does not name the event",
               put(number_key, counts_key));
  expect_only("the group of the event has no row of counts", erase(counts_key));
  expect_among("but its group has 0 entries", counts({}));
  expect_among(
      "group.number groups/number 1: the row does not name a waiting event with the number in the "
      "key",
      erase(event_key));
  for (const std::string& value : {std::string(), std::string("\x02"), std::string("rubbish"),
                                   std::string(600, '\x02'), event_key + "x"}) {
    expect_among("group.number groups/number 1", put(number_key, value));
  }
  expect_among("counter.behind groups/number 7", put("\x03" + rows::key_of(uint64_t{7}), "x"));
}

TEST_F(CheckGroupsTest, ChecksAnEventAgainstItsGroupAndItsEntry) {
  expect_only("row.event groups/workflow 1 group ",
              edit_event([](GroupedRecord& one) { one.event = "{}"; }));
  expect_only("row.record groups/workflow 1 group ", put(event_key, "rubbish"));
  expect_only("the correlation of the event is not that of its group",
              edit_event([&](GroupedRecord& one) { one.event = json_event("left", "another"); }));
  expect_only("the entry of the event waits for type left, but the type of the event is right",
              edit_event([&](GroupedRecord& one) { one.event = json_event("right", "k"); }));
  expect_only("the event never expires",
              edit_event([](GroupedRecord& one) { one.expires.reset(); }));
  expect_only("which is later than any lifespan in the revisions with these groups allows",
              edit_event([](GroupedRecord& one) { *one.expires += Duration(1); }));
}

TEST_F(CheckGroupsTest, ChecksAnEventAgainstTheFilterOfItsEntry) {
  define(R"(
id: filters
start:
  type: eventsAnd
  correlate: [key]
  events: [{type: first, context: {subject: '^ok'}}, {type: second}]
states:
- {id: a, type: noop}
)");
  const Event event{.id = "2",
                    .source = "/s",
                    .type = "first",
                    .subject = "ok",
                    .extensions = {{"key", std::string("k")}}};
  publish(event);
  expect_sound();
  const std::string second(*tx->get(Table::kGroups, "\x03" + rows::key_of(uint64_t{2})));
  const auto with_subject = [&](const std::optional<std::string>& subject) -> Change {
    Event changed = event;
    changed.subject = subject;
    const std::string text = encode_json_event(changed);
    return [=](Transaction& in) {
      edit<GroupedRecord>(in, Table::kGroups, second, decode_grouped, encode,
                          [&](GroupedRecord& one) { one.event = text; });
    };
  };
  for (const std::optional<std::string>& subject :
       std::vector<std::optional<std::string>>{"no", std::nullopt}) {
    expect_only("the attributes of the event do not match the filter of its entry",
                with_subject(subject));
  }
}

TEST_F(CheckGroupsTest, ChecksTheOrderInWhichTheEventsArrived) {
  using std::chrono::minutes;
  now += minutes(10);
  publish({.id = "2", .source = "/s", .type = "left", .extensions = {{"key", std::string("j")}}});
  const TimePoint second = now;
  now += minutes(20);
  publish({.id = "3", .source = "/s", .type = "left", .extensions = {{"key", std::string("k")}}});
  expect_sound();
  EXPECT_THAT(found_after(edit_event([](GroupedRecord& one) { *one.expires += minutes(9); })),
              IsEmpty());
  expect_only(
      fmt::format("by the end of its lifespan the event arrived at {} ms, but event 1, which has a "
                  "lower number, arrived at {} ms",
                  to_millis(second), to_millis(second + minutes(5))),
      edit_event([](GroupedRecord& one) { *one.expires += minutes(15); }));
}

TEST_F(CheckGroupsTest, AllowsAHigherNumberOfAnEventWhoseMatchWasDecidedLate) {
  using std::chrono::minutes;
  now += minutes(10);
  publish({.id = "2", .source = "/s", .type = "left", .extensions = {{"key", std::string("k")}}});
  now += minutes(20);
  publish({.id = "3", .source = "/s", .type = "left", .extensions = {{"key", std::string("k")}}});
  const Change later = edit_event([](GroupedRecord& one) { *one.expires += minutes(15); });
  expect_only("by the end of its lifespan the event arrived at", later);
  const EventPosition second = read_grouped(*tx, 2).value()->record.position;
  EXPECT_THAT(found_after([&](Transaction& in) {
                later(in);
                write_counter(in, Counter::kEffects, 9);
                write_effects(in, {.at = second,
                                   .number = 9,
                                   .is_late = true,
                                   .effects = {{second, {.kind = EventEffect::Kind::kKept}}}});
              }),
              IsEmpty())
      << "a late match is that of a kept event";
  EXPECT_THAT(found_after([&](Transaction& in) {
                later(in);
                ASSERT_TRUE(rows::erase_some(in, Table::kEffects, {}, 100));
              }),
              IsEmpty())
      << "the effects of old events are erased";
}

TEST_F(CheckGroupsTest, AllowsRowsThatAPurgeOfClosedGroupsWillErase) {
  const auto close = [&](Transaction& in) {
    auto record = *read_workflow(in, ns, "pairs").value();
    record.groups_from = record.latest;  // the old groups are closed
    write_workflow(in, ns, "pairs", record);
    write_purge(in, {Purge::Kind::kGroups,
                     static_cast<uint64_t>(record.number),
                     {.ns = "default", .workflow = "pairs", .up_to = 1}});
  };
  EXPECT_THAT(found_after([&](Transaction& in) {
                close(in);
                in.erase(Table::kGroups, counts_key);
              }),
              Not(Contains(HasSubstr("group."))));
  EXPECT_THAT(found_after(close), Not(Contains(HasSubstr("purge.target"))));
}

TEST_F(CheckGroupsTest, RefusesAPurgeOfTheCurrentGroupsOfAWorkflow) {
  expect_among(
      "the event waits in a current group of its workflow, but a purge up to event 1 erases it",
      [&](Transaction& in) {
        write_purge(in, {Purge::Kind::kGroups,
                         static_cast<uint64_t>(number_of("pairs")),
                         {.ns = "default", .workflow = "pairs", .up_to = 1}});
      });
}

}  // namespace
}  // namespace millrace
