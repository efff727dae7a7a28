// The list of queues while a workflow, a service or instances are paused.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/rows/start_rate_rows.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

class PausedQueuesTest : public QueryTest {
 protected:
  PausedQueuesTest()
      : ship_(apply("id: ship\nconcurrency: {limit: 2, key: jq(.c)}\n"
                    "states:\n- {id: a, type: noop}\n")) {}

  static Ask list(size_t limit = 10, std::string cursor = "") {
    return [=](Queries& queries, const View& view) {
      return queries.queues(view, "default", limit, cursor, "");
    };
  }

  /// Stores an instance that holds a slot of the key without a value.
  void hold(uint8_t number, bool paused) {
    const SlotKey key = slot_key_of(ship_, "");
    Instance holder = waiting_instance(ship_, number);
    holder.slot = Slot{.number = number, .is_queued = false};
    holder.paused = paused;
    if (paused) holder.status = InstanceStatus::kPaused;
    write_slot_place(*tx, key, *holder.slot, {.instance = holder.id, .since = now});
    store(holder);
  }
  /// Stores a start that waits for the throttle of the workflow and is paused.
  void pause_start(WorkflowNumber workflow, uint8_t number, const std::string& key,
                   Sealing sealed = {}) {
    Instance start = waiting_instance(workflow, number);
    start.status = InstanceStatus::kPaused;
    start.phase = Phase::kEntering;
    start.paused = true;
    start.throttled = Throttled{.key = key, .number = number};
    start.sealed = sealed;
    store(start);
  }

  const WorkflowNumber ship_;
};

TEST_F(PausedQueuesTest, MarkAPausedWorkflowAndShowNoTurnOfItsThrottle) {
  write_slot_counts(*tx, slot_key_of(ship_, "1"), {.key = "1", .held = 1, .queued = 1});
  const WorkflowNumber send =
      apply("id: send\nthrottle: {limit: 1, period: PT1M}\nstates:\n- {id: a, type: noop}\n");
  const SlotKey key = throttle_key_of(send, "");
  write_slot_counts(*tx, key, {.queued = 1});  // of an instance that was resumed by itself
  const TimePoint at = now + std::chrono::minutes(1);
  ASSERT_TRUE(write_start_rate(
      *tx, throttle_rate_place(tx->seal().id_key(), send, key.key),
      {.ns = ns, .ends = at, .listed = at, .use = {{{.first = now, .last = now}}}}, true));
  commit();
  const auto marks = [&] {
    Json shown = Json::array();
    const Json items = answer(list())["items"];
    for (const Json& item : items) {
      shown.push_back({item["workflow"], item.contains("workflowPaused"), item.contains("nextAt")});
    }
    return shown;
  };
  EXPECT_EQ(marks(), Json::parse(R"([["send", false, true], ["ship", false, false]])"));
  for (const WorkflowNumber one : {ship_, send}) catalog.pause_workflow(*tx, one, true);
  commit_catalog();
  EXPECT_EQ(marks(), Json::parse(R"([["send", true, false], ["ship", true, false]])"));
}

TEST_F(PausedQueuesTest, ShowNoTurnIfAllStartsAtTheThrottleArePaused) {
  const WorkflowNumber send =
      apply("id: send\nthrottle: {limit: 1, period: PT1M}\nstates:\n- {id: a, type: noop}\n");
  const SlotKey key = throttle_key_of(send, "");
  ASSERT_TRUE(write_start_rate(
      *tx, throttle_rate_place(tx->seal().id_key(), send, key.key),
      {.ns = ns, .ends = now, .listed = now, .use = {{{.first = now, .last = now}}}}, true));
  pause_start(send, 1, "");
  commit();
  const Json item = answer(list())["items"].at(0);
  EXPECT_EQ(item["paused"], 1);
  EXPECT_EQ(item["limit"], 1);
  EXPECT_FALSE(item.contains("nextAt")) << item;
}

TEST_F(PausedQueuesTest, SayThatAllThatHoldASlotArePaused) {
  const auto are_paused = [&] { return answer(list())["items"][0].contains("holdersPaused"); };
  write_slot_counts(*tx, slot_key_of(ship_, ""), {.held = 2, .queued = 1});
  commit();
  EXPECT_FALSE(are_paused()) << "nothing is known of the holders";
  hold(1, true);
  EXPECT_TRUE(are_paused());
  hold(2, false);
  EXPECT_FALSE(are_paused());
  hold(2, true);
  EXPECT_TRUE(are_paused());
  expect_each_read_to_count(list());
}

TEST_F(PausedQueuesTest, ShowPausedStartsThatHaveNoTurnOfTheThrottle) {
  const WorkflowNumber send = apply(
      "id: send\nthrottle: {limit: 2, period: PT1M, key: jq(.c)}\n"
      "states:\n- {id: a, type: noop}\n");
  pause_start(send, 1, "1");
  pause_start(send, 2, "1");
  pause_start(send, 3, "2");
  pause_start(send, 4, "3", Sealing::kHidden);
  store(waiting_instance(send, 5));
  write_slot_counts(*tx, throttle_key_of(send, "2"), {.key = "2", .queued = 4});
  write_slot_counts(*tx, throttle_key_of(send, "4"), {.key = "4", .queued = 5});
  commit();
  Json shown = Json::object();
  const Json items = answer(list())["items"];
  for (const Json& item : items) {
    EXPECT_EQ(item["workflow"], "send");
    EXPECT_EQ(item["reason"], "throttle");
    EXPECT_EQ(item["limit"], 2);
    EXPECT_FALSE(item.contains("next"));
    shown[dump_json(item["key"])] = Json{item["queued"], item.value("paused", 0)};
  }
  EXPECT_EQ(items.size(), 4U);
  EXPECT_EQ(shown, Json::parse(R"({"1": [0, 2], "2": [4, 1], "\"(sealed)\"": [0, 1],
                                   "4": [5, 0]})"));
  for (const size_t limit : {1, 2, 3}) {
    Json all = Json::array();
    std::string cursor;
    do {
      const Json page = answer(list(limit, cursor));
      for (const Json& item : page["items"]) all.push_back(item);
      cursor = page["next"].is_null() ? "" : page["next"].get<std::string>();
    } while (!cursor.empty() && all.size() < 9);
    EXPECT_EQ(all, items) << limit;
  }
}

TEST_F(PausedQueuesTest, MarkAPausedServiceAndShowNoTurnOfItsThrottle) {
  const SlotService bank{.name = "bank"};
  const CallSlotKey key = call_throttle_key_of(ns, bank, "");
  write_call_counts(*tx, key, {.service = bank, .limit = 1, .queued = 1});
  write_call_place(*tx, key, {.kind = QueueRow::kCallThrottled, .number = 9},
                   {.task = numbered_id(9),
                    .since = now,
                    .limit = 1,
                    .period = Span{.fixed = std::chrono::minutes(1), .text = "PT1M"}});
  const TimePoint at = now + std::chrono::minutes(1);
  ASSERT_TRUE(write_start_rate(
      *tx, call_rate_place(tx->seal().id_key(), ns, key.key),
      {.ns = ns, .ends = at, .listed = at, .use = {{{.first = now, .last = now}}}}, true));
  write_call_counts(*tx, call_slot_key_of(ns, bank, ""), {.service = bank, .queued = 1});
  commit();
  const auto marks = [&] {
    Json shown = Json::array();
    const Json items = answer(list())["items"];
    for (const Json& item : items) {
      shown.push_back({item["reason"], item.contains("servicePaused"), item.contains("nextAt")});
    }
    return shown;
  };
  EXPECT_EQ(marks(), Json::parse(R"([["concurrency", false, false], ["throttle", false, true]])"));
  set_settings({{"paused", {"bank"}}});
  EXPECT_EQ(marks(), Json::parse(R"([["concurrency", true, false], ["throttle", true, false]])"));
}

TEST_F(PausedQueuesTest, ShowKeysWhoseCallsAreAllOfPausedInstances) {
  const SlotService bank{.name = "bank"};
  write_call_counts(*tx, call_slot_key_of(ns, bank, ""),
                    {.service = bank, .limit = 2, .held = 1, .paused = 3});
  commit();
  const Json items = answer(list())["items"];
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0]["queued"], 0);
  EXPECT_EQ(items[0]["paused"], 3);
  EXPECT_FALSE(items[0].contains("next"));
}

TEST_F(PausedQueuesTest, ShowWhatTheThrottleOfPausedCallsPermits) {
  const SlotService bank{.name = "bank"};
  const CallSlotKey key = call_throttle_key_of(ns, bank, "");
  write_call_counts(*tx, key, {.service = bank, .limit = 1, .paused = 1});
  write_call_place(*tx, key, {.kind = QueueRow::kCallThrottlePaused, .number = 9},
                   {.task = numbered_id(9),
                    .since = now,
                    .limit = 20,
                    .period = Span{.fixed = std::chrono::minutes(1), .text = "PT1M"}});
  commit();
  const Json items = answer(list())["items"];
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0]["limit"], 20);
  EXPECT_EQ(items[0]["period"], "PT1M");
  EXPECT_FALSE(items[0].contains("next"));
  EXPECT_FALSE(items[0].contains("nextAt"));
}

}  // namespace
}  // namespace millrace
