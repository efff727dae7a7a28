// The query of services and their tasks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

class FunctionQueriesTest : public QueryTest {
 protected:
  StartTask task(uint8_t number, NamedService service) const {
    return {.ns = ns,
            .task = numbered_id(number),
            .by = numbered_id(200),
            .workflow = WorkflowNumber(1),
            .state = "pay",
            .function = "call",
            .runs = std::move(service),
            .input = Json{{"sum", number}}};
  }

  static Ask functions(std::string name = "default") {
    return [=](Queries& queries, const View& view) { return queries.functions(view, name); };
  }
};

TEST_F(FunctionQueriesTest, ShowServicesWithoutTasks) {
  set_settings(Json::parse(R"({
    "services": {"ask": {"request": "svc.ask"},
                 "charge": {"queue": "millrace.tasks.default.charge"},
                 "mail": {"url": "http://u:p@mail/x"},
                 "ship": {"queue": "millrace.tasks.default.shipping"}},
    "paused": ["mail"]})"));
  EXPECT_EQ(answer(functions()), Json::parse(R"({
    "items": [
      {"service": "ask", "target": {"kind": "request", "at": "svc.ask"}, "paused": false,
       "waiting": 0, "running": 0},
      {"service": "charge", "target": {"kind": "workers", "at": "millrace.tasks.default.charge"},
       "paused": false, "waiting": 0, "running": 0},
      {"service": "mail", "target": {"kind": "http", "at": "http://***@mail/x"}, "paused": true,
       "waiting": 0, "running": 0},
      {"service": "ship", "target": {"kind": "workers", "at": "millrace.tasks.default.shipping"},
       "paused": false, "waiting": 0, "running": 0}],
    "next": null, "complete": true, "looked": 0})"));
  EXPECT_EQ(outcome(functions("none")), "namespace.not_found");
  expect_each_read_to_count(functions());
}

TEST_F(FunctionQueriesTest, AreIncompleteIfTheTimeIsOver) {
  write_task(*tx, task(1, {.name = "charge"}));
  write_task(*tx, task(2, {.name = "charge"}));
  commit();
  EXPECT_EQ(answer(functions())["complete"], true);
  clock.let_looks_take(std::chrono::milliseconds(50));
  const Json cut = answer(functions());
  EXPECT_EQ(cut["complete"], false);
  EXPECT_EQ(cut["looked"], 1);
}

TEST_F(FunctionQueriesTest, CountTheTasksOfTheNamespace) {
  const NamespaceNumber shop = create_namespace("shop");
  write_task(*tx, task(1, {.name = "charge"}));
  write_task(*tx, task(2, {.name = "charge"}));
  write_task(*tx, task(3, {.name = "charge"}));
  StartTask other = task(4, {.name = "charge", .global = true});
  other.ns = shop;
  write_task(*tx, other);
  StartTask contained = task(5, {});
  contained.runs = Container{.isolated = true, .image = "alpine"};
  write_task(*tx, contained);
  commit();
  started.add(numbered_id(1));
  const auto charge = started.services().number_of(ns, "charge");
  started.services().started(charge, Duration(1500));
  started.services().failed(charge, {"card.declined", "no funds"}, false, now);

  const Json items = answer(functions())["items"];
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0]["service"], "call");
  EXPECT_EQ(items[0]["target"], (Json{{"kind", "container"}, {"at", "alpine"}}));
  EXPECT_EQ(items[0]["waiting"], 1);
  EXPECT_EQ(items[1]["service"], "charge");
  EXPECT_EQ(items[1]["waiting"], 2);
  EXPECT_EQ(items[1]["running"], 1);
  EXPECT_EQ(items[1]["oldest"], format_rfc3339(time_of(numbered_id(2))));
  EXPECT_EQ(items[1]["scheduleToStart"], (Json{{"p50", 1.5}, {"p99", 1.5}}));
  EXPECT_EQ(
      items[1]["lastError"],
      (Json{{"code", "card.declined"}, {"message", "no funds"}, {"at", format_rfc3339(now)}}));
  started.services().failed(charge, {"card.declined", "said hunter22"}, false, now);
  set_settings(Json{{"services", {{"other", {{"url", "http://ann:hunter22@other"}}}}}});
  bool is_listed = false;
  const Json masked = answer(functions())["items"];
  for (const Json& one : masked) {
    if (one["service"] != "charge") continue;
    is_listed = true;
    EXPECT_EQ(one["lastError"]["message"], "said ***");
  }
  EXPECT_TRUE(is_listed);
  const Json of_shop = answer(functions("shop"))["items"];
  ASSERT_EQ(of_shop.size(), 1U);
  EXPECT_EQ(of_shop[0]["global"], true);
  EXPECT_EQ(of_shop[0]["target"]["at"], "millrace.tasks.default.charge");
  set_settings(Json{{"paused", {"charge"}}});
  EXPECT_EQ(answer(functions("shop"))["items"][0]["paused"], false) << "only calls of default wait";
  ns = shop;
  set_settings(Json{{"paused", {"charge"}}});
  EXPECT_EQ(answer(functions("shop"))["items"][0]["paused"], true);
}

TEST_F(FunctionQueriesTest, CountTasksThatWaitForALimitByThemselves) {
  const auto limited = [&](uint8_t number, bool slot, bool throttle) {
    StartTask one = task(number, {.name = "bank"});
    const StartLimit rate{.limit = 1, .period = Span::parse("PT1M").value(), .key = {}};
    if (slot) one.slot = TaskSlot{.limit = 1, .number = number};
    if (throttle) one.throttle = TaskThrottle{.rate = rate, .timeout = {}, .number = number};
    write_task(*tx, one);
    return one;
  };
  const auto place = [&](const CallSlotKey& key, QueueRow kind, uint8_t number) {
    write_call_place(*tx, key, {.kind = kind, .number = number},
                     {.task = numbered_id(number),
                      .since = now,
                      .limit = 1,
                      .period = Span::parse("PT1M").value()});
  };
  const StartTask waits = limited(1, true, false);
  place(call_slot_key_of(waits), QueueRow::kCallWaiting, 1);
  place(call_slot_key_of(limited(2, true, false)), QueueRow::kCallPaused, 2);
  const StartTask holds = limited(3, true, true);
  place(call_slot_key_of(holds), QueueRow::kCallHolder, 3);
  place(call_throttle_key_of(holds), QueueRow::kCallThrottled, 3);
  commit();
  const auto bank = [&] { return answer(functions())["items"][0]; };
  EXPECT_EQ(bank()["queued"], 3);
  EXPECT_EQ(bank()["waiting"], 0) << "no worker can take one of them";
  EXPECT_FALSE(bank().contains("oldest"));
  place(call_slot_key_of(limited(4, true, false)), QueueRow::kCallHolder, 4);
  limited(5, false, true);
  commit();
  EXPECT_EQ(bank()["queued"], 3);
  EXPECT_EQ(bank()["waiting"], 2);
  EXPECT_EQ(bank()["oldest"], format_rfc3339(time_of(numbered_id(4))));
  expect_each_read_to_count(functions());
}

}  // namespace
}  // namespace millrace
