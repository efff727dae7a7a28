// Queries about what holds the slots of workflows and of services.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class HolderQueriesTest : public QueryTest {
 protected:
  HolderQueriesTest()
      : ship_(apply("id: ship\nconcurrency: {limit: 9, key: jq(.c)}\n"
                    "states:\n- {id: a, type: noop}\n")) {}

  /// Stores the rows of a key whose slots are held under the numbers from `first` on.
  void hold(const std::string& key, uint64_t first, uint64_t held, Sealing sealed = {}) {
    const SlotKey at = slot_key_of(ship_, key);
    write_slot_counts(*tx, at, {.key = key, .held = held, .queued = 1, .sealed = sealed});
    for (uint64_t i = first; i < first + held; ++i) {
      write_slot_place(*tx, at, {.key = key, .number = i, .is_queued = false},
                       {.instance = numbered_id(static_cast<uint8_t>(i)), .since = now});
    }
    commit();
  }
  /// Likewise of the calls of a service.
  void hold_calls(const SlotService& service, const std::string& key, uint64_t first, uint64_t held,
                  Sealing sealed = {}) {
    const CallSlotKey at = call_slot_key_of(ns, service, key);
    write_call_counts(*tx, at,
                      {.service = service, .key = key, .limit = 9, .held = held, .sealed = sealed});
    for (uint64_t i = first; i < first + held; ++i) {
      write_call_place(*tx, at, {.kind = QueueRow::kCallHolder, .number = i},
                       {.task = numbered_id(static_cast<uint8_t>(i)), .since = now, .limit = 9});
    }
    commit();
  }
  static Ask holders(const HolderFilter& filter) {
    return [filter](Queries& queries, const View& view) {
      return queries.queue_holders(view, "default", filter);
    };
  }
  /// The values of the member of all holders of the filter, over all pages.
  std::vector<std::string> all(const HolderFilter& filter, const std::string& member) {
    std::vector<std::string> found;
    for (const auto& page :
         pages(member, filter.limit,
               [&](Queries&queries, const View&view, size_t limit, std::string_view cursor) {
                 HolderFilter asked = filter;
                 asked.limit = limit;
                 asked.cursor = cursor;
                 return queries.queue_holders(view, "default", asked);
               })) {
      found.insert(found.end(), page.begin(), page.end());
    }
    return found;
  }
  static std::string text_of(uint8_t number) { return to_string(numbered_id(number)); }

  const WorkflowNumber ship_;
};

TEST_F(HolderQueriesTest, ShowAllHoldersOfAKeyTheOldestFirst) {
  hold("\"c-1\"", 1, 3);
  hold("\"c-2\"", 10, 1);
  const auto item = [&](uint8_t number) {
    return Json{{"key", "c-1"}, {"instance", text_of(number)}, {"since", format_rfc3339(now)}};
  };
  EXPECT_EQ(answer(holders({.workflow = "ship", .key = "c-1"})),
            (Json{{"items", Json::array({item(1), item(2), item(3)})}, {"next", nullptr}}));
  EXPECT_THAT(all({.workflow = "ship", .key = "c-1", .limit = 1}, "instance"),
              ElementsAre(text_of(1), text_of(2), text_of(3)));
  EXPECT_THAT(answer(holders({.workflow = "ship", .key = "c-3"}))["items"], IsEmpty());
  hold("7", 20, 1);
  EXPECT_THAT(answer(holders({.workflow = "ship", .key = 7.0}))["items"], SizeIs(1));
}

TEST_F(HolderQueriesTest, SayWhichArePausedAndWhichWaitForAThrottle) {
  hold("", 1, 3);
  Instance paused = waiting_instance(ship_, 1);
  paused.paused = true;
  paused.status = InstanceStatus::kPaused;
  store(paused);
  Instance throttled = waiting_instance(ship_, 2);
  throttled.throttled = Throttled{.number = 7};
  store(throttled);
  const SlotService bank{.name = "bank"};
  hold_calls(bank, "", 51, 3);
  for (const uint8_t number : {51, 52}) {
    StartTask task{.ns = ns,
                   .task = numbered_id(number),
                   .caller = Caller{.instance = numbered_id(number == 51 ? 1 : 2), .attempt = 1},
                   .by = numbered_id(number == 51 ? 1 : 2),
                   .workflow = ship_,
                   .state = "a",
                   .function = "f",
                   .runs = NamedService{.name = "bank"},
                   .input = Json(nullptr)};
    task.slot = TaskSlot{.limit = 9, .number = number};
    const StartLimit rate{.limit = 1, .period = Span::parse("PT1M").value(), .key = {}};
    if (number == 52) task.throttle = TaskThrottle{.rate = rate, .timeout = {}, .number = 4};
    write_task(*tx, task);
    if (number == 51) continue;
    const CallSlotKey key = call_throttle_key_of(task);
    write_call_place(*tx, key, {.kind = waiting_kind(key), .number = 4},
                     {.task = task.task, .since = now, .limit = 1, .period = rate.period});
  }
  commit();
  const auto marks = [&](const HolderFilter& filter) {
    const Json items = answer(holders(filter))["items"];
    Json shown = Json::array();
    for (const Json& item : items) {
      shown.push_back({item.value("paused", false), item.value("waitsFor", "")});
    }
    return shown;
  };
  const Json expected = Json::parse(R"([[true, ""], [false, "throttle"], [false, ""]])");
  EXPECT_EQ(marks({.workflow = "ship"}), expected) << "the third one is gone";
  EXPECT_EQ(marks({.service = "bank"}), expected);
}

TEST_F(HolderQueriesTest, ShowTheHoldersOfAllKeys) {
  hold("\"c-1\"", 1, 3);
  hold("\"c-2\"", 10, 2);
  hold("", 20, 1);
  write_slot_counts(*tx, throttle_key_of(ship_, "1"), {.key = "1", .queued = 1});
  commit();
  for (const size_t limit : {1, 2, 3, 6, 50}) {
    EXPECT_THAT(all({.workflow = "ship", .limit = limit}, "instance"),
                UnorderedElementsAre(text_of(1), text_of(2), text_of(3), text_of(10), text_of(11),
                                     text_of(20)))
        << limit;
  }
  EXPECT_EQ(answer(holders({.workflow = "ship", .limit = 6}))["next"], nullptr);
}

TEST_F(HolderQueriesTest, ContinueIfTheHolderOfTheCursorHasLeft) {
  hold("\"c-1\"", 1, 3);
  HolderFilter filter{.workflow = "ship", .limit = 1};
  filter.cursor = answer(holders(filter))["next"].get<std::string>();
  const SlotKey key = slot_key_of(ship_, "\"c-1\"");
  erase_slot_place(*tx, key, {.number = 1, .is_queued = false});
  write_slot_counts(*tx, key, {.key = "\"c-1\"", .held = 2});
  commit();
  filter.limit = 9;
  const Json rest = answer(holders(filter))["items"];
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[0]["instance"], text_of(2));
  write_slot_counts(*tx, key, {.key = "\"c-1\""});
  for (const uint64_t number : {2, 3}) {
    erase_slot_place(*tx, key, {.number = number, .is_queued = false});
  }
  commit();
  EXPECT_THAT(answer(holders(filter))["items"], IsEmpty());
}

TEST_F(HolderQueriesTest, HideASealedKeyAndDoNotFindIt) {
  hold("\"secret\"", 1, 1, Sealing::kHidden);
  hold_calls({.name = "bank"}, "\"secret\"", 2, 1, Sealing::kHidden);
  EXPECT_EQ(answer(holders({.workflow = "ship"}))["items"][0]["key"], "(sealed)");
  EXPECT_EQ(answer(holders({.service = "bank"}))["items"][0]["key"], "(sealed)");
  EXPECT_THAT(answer(holders({.workflow = "ship", .key = "secret"}))["items"], IsEmpty());
  EXPECT_THAT(answer(holders({.service = "bank", .key = "secret"}))["items"], IsEmpty());
}

TEST_F(HolderQueriesTest, ShowTheCallsOfAServiceWithTheirInstances) {
  using Kind = SlotService::Kind;
  write_task(*tx, {.ns = ns,
                   .task = numbered_id(1),
                   .by = numbered_id(77),
                   .workflow = ship_,
                   .state = "a",
                   .function = "f",
                   .runs = NamedService{.name = "bank"}});
  hold_calls({.name = "bank"}, "\"c-1\"", 1, 1);
  hold_calls({.kind = Kind::kGlobalService, .name = "bank"}, "\"c-1\"", 10, 2);
  hold_calls({.name = "bank"}, "", 20, 1);
  hold_calls({.kind = Kind::kContainer, .name = "bank"}, "\"c-1\"", 30, 1);
  hold_calls({.name = "other"}, "\"c-1\"", 40, 1);
  for (const size_t limit : {1, 2, 50}) {
    EXPECT_THAT(all({.service = "bank", .limit = limit}, "task"),
                UnorderedElementsAre(text_of(1), text_of(10), text_of(11), text_of(20)))
        << limit;
    EXPECT_THAT(all({.service = "bank", .key = "c-1", .limit = limit}, "task"),
                UnorderedElementsAre(text_of(1), text_of(10), text_of(11)))
        << limit;
    EXPECT_THAT(all({.image = "bank", .limit = limit}, "task"), ElementsAre(text_of(30)));
  }
  const Json items = answer(holders({.service = "bank", .key = "c-1"}))["items"];
  size_t global = 0;
  for (const Json& item : items) {
    EXPECT_EQ(item["key"], "c-1");
    EXPECT_EQ(item["since"], format_rfc3339(now));
    if (item.contains("global")) ++global;
    if (item["task"] == text_of(1)) {
      EXPECT_EQ(item["instance"], text_of(77));
    } else {
      EXPECT_FALSE(item.contains("instance")) << "no row has the task";
    }
  }
  EXPECT_EQ(global, 2U);
  EXPECT_EQ(answer(holders({.image = "bank", .key = "c-1"}))["items"].size(), 1U);
}

TEST_F(HolderQueriesTest, RefuseWhatIsNotThere) {
  hold("1", 1, 1);
  EXPECT_EQ(outcome(holders({.workflow = "none"})), "workflow.not_found");
  for (const std::string& cursor : {std::string("x"), text_of(1) + "/", text_of(1) + "/x"}) {
    EXPECT_EQ(outcome(holders({.workflow = "ship", .cursor = cursor})), "cursor.malformed");
  }
  const std::string foreign = text_of(1) + "/1";
  EXPECT_EQ(outcome(holders({.workflow = "ship", .key = 1, .cursor = foreign})),
            "cursor.malformed");
  EXPECT_EQ(outcome(holders({.service = "bank", .key = 1, .cursor = foreign})), "cursor.malformed");
  EXPECT_EQ(outcome([](Queries& queries, const View& view) {
              return queries.queue_holders(view, "none", {.service = "bank"});
            }),
            "namespace.not_found");
}

TEST_F(HolderQueriesTest, PassOverDamagedRowsButNotOverThoseOfTheAskedKey) {
  hold("1", 1, 2);
  hold("2", 10, 1);
  damage(Table::kQueues, place_key(slot_key_of(ship_, "1"), {.number = 1, .is_queued = false}));
  EXPECT_THAT(all({.workflow = "ship", .key = 1}, "instance"), ElementsAre(text_of(2)));
  damage(Table::kQueues, slot_counts_key(slot_key_of(ship_, "1")));
  EXPECT_THAT(all({.workflow = "ship"}, "instance"), ElementsAre(text_of(10)));
  EXPECT_EQ(outcome(holders({.workflow = "ship", .key = 1})), "store.damaged_row");
}

TEST_F(HolderQueriesTest, CountEachRead) {
  hold("1", 1, 2);
  hold("2", 10, 2);
  hold_calls({.name = "bank"}, "1", 1, 2);
  HolderFilter filter{.workflow = "ship", .limit = 1};
  expect_each_read_to_count(holders(filter));
  filter.cursor = answer(holders(filter))["next"].get<std::string>();
  expect_each_read_to_count(holders(filter));
  HolderFilter calls{.service = "bank", .limit = 1};
  calls.cursor = answer(holders(calls))["next"].get<std::string>();
  expect_each_read_to_count(holders(calls));
  expect_each_read_to_count(holders({.workflow = "ship", .key = 1}));
  expect_each_read_to_count(holders({.service = "bank", .key = 1}));
}

}  // namespace
}  // namespace millrace
