// Queries about the starts and the calls that wait for slots.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/rows/start_rate_rows.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class QueueQueriesTest : public QueryTest {
 protected:
  QueueQueriesTest()
      : ship_(apply("id: ship\nconcurrency: {limit: 2, key: jq(.c)}\n"
                    "states:\n- {id: a, type: noop}\n")) {}

  static InstanceId number(uint8_t last) {
    InstanceId id;
    id.bytes[15] = last;
    return id;
  }
  /// Stores the rows of a key for whose slots `queued` starts wait.
  void add_key(const std::string& key, uint64_t held, uint64_t queued, Sealing sealed = {}) {
    const SlotKey at = slot_key_of(ship_, key);
    write_slot_counts(*tx, at, {.key = key, .held = held, .queued = queued, .sealed = sealed});
    for (uint64_t i = 1; i <= held; ++i) {
      write_slot_place(*tx, at, {.key = key, .number = i, .is_queued = false},
                       {.instance = number(static_cast<uint8_t>(i)), .since = now});
    }
    for (uint64_t i = 1; i <= queued; ++i) {
      write_slot_place(*tx, at, {.key = key, .priority = 3, .number = 100 + i, .is_queued = true},
                       {.instance = number(static_cast<uint8_t>(100 + i)), .since = now});
    }
    commit();
  }
  static Ask list(size_t limit, std::string cursor = "", std::string workflow = "") {
    return [=](Queries& queries, const View& view) {
      return queries.queues(view, "default", limit, cursor, workflow);
    };
  }

  const WorkflowNumber ship_;
};

TEST_F(QueueQueriesTest, ShowWhoIsNextAndWhoHoldsASlot) {
  add_key("\"c-1\"", 2, 3);
  const std::string at = format_rfc3339(now);
  const Json expected{
      {"kind", "starts"},
      {"workflow", "ship"},
      {"reason", "concurrency"},
      {"key", "c-1"},
      {"limit", 2},
      {"held", 2},
      {"queued", 3},
      {"next", {{"instance", to_string(number(101))}, {"since", at}, {"priority", 3}}},
      {"holder", {{"instance", to_string(number(1))}, {"since", at}}}};
  EXPECT_EQ(answer(list(10)), (Json{{"items", Json::array({expected})}, {"next", nullptr}}));
  EXPECT_EQ(answer(list(10, "", "ship"))["items"].size(), 1U);
}

TEST_F(QueueQueriesTest, ShowWhenAThrottlePermitsTheNextStart) {
  const WorkflowNumber send = apply(
      "id: send\nthrottle: {limit: 1, period: PT1M, key: jq(.c)}\n"
      "states:\n- {id: a, type: noop}\n");
  const SlotKey key = throttle_key_of(send, "\"c-1\"");
  write_slot_counts(*tx, key, {.key = "\"c-1\"", .queued = 1});
  write_slot_place(*tx, key, waiting_slot({.key = "\"c-1\"", .priority = 3, .number = 7}),
                   {.instance = number(7), .since = now});
  const StartRatePlace place = throttle_rate_place(tx->seal().id_key(), send, key.key);
  ASSERT_TRUE(write_start_rate(*tx, place,
                               {.ns = NamespaceNumber(1),
                                .ends = now + std::chrono::minutes(1),
                                .listed = now + std::chrono::minutes(1),
                                .use = {{{.first = now, .last = now}}}},
                               true));
  commit();
  const Json expected{
      {"kind", "starts"},
      {"workflow", "send"},
      {"reason", "throttle"},
      {"key", "c-1"},
      {"limit", 1},
      {"period", "PT1M"},
      {"queued", 1},
      {"nextAt", format_rfc3339(now + std::chrono::minutes(1))},
      {"next",
       {{"instance", to_string(number(7))}, {"since", format_rfc3339(now)}, {"priority", 3}}}};
  EXPECT_EQ(answer(list(10)), (Json{{"items", Json::array({expected})}, {"next", nullptr}}));
}

TEST_F(QueueQueriesTest, HavePagesOverTheKeysOfBothLimits) {
  const SlotKey first = throttle_key_of(ship_, "1");
  const SlotKey second = throttle_key_of(ship_, "2");
  for (const SlotKey& key : {first, second}) write_slot_counts(*tx, key, {.key = "1", .queued = 1});
  add_key("1", 1, 1);
  std::vector<std::string> reasons;
  std::string cursor;
  for (int page = 0; page < 3; ++page) {
    const Json found = answer(list(1, cursor));
    ASSERT_EQ(found["items"].size(), 1U) << page;
    reasons.push_back(found["items"][0]["reason"]);
    if (found["next"].is_string()) cursor = found["next"].get<std::string>();
  }
  EXPECT_THAT(reasons, ElementsAre("concurrency", "throttle", "throttle"));
}

TEST_F(QueueQueriesTest, LeaveOutKeysForWhichNoStartWaits) {
  add_key("1", 1, 0);
  EXPECT_THAT(answer(list(10))["items"], IsEmpty());
}

TEST_F(QueueQueriesTest, HideASealedKey) {
  add_key("\"secret\"", 1, 1, Sealing::kHidden);
  EXPECT_EQ(answer(list(10))["items"][0]["key"], "(sealed)");
}

TEST_F(QueueQueriesTest, HavePages) {
  for (int i = 0; i < 5; ++i) add_key(std::to_string(i), 1, 1);
  size_t found = 0;
  size_t pages = 0;
  std::string cursor;
  do {
    const Json page = answer(list(2, cursor));
    found += page["items"].size();
    ++pages;
    cursor = page["next"].is_null() ? "" : page["next"].get<std::string>();
  } while (!cursor.empty());
  EXPECT_EQ(found, 5U);
  EXPECT_EQ(pages, 3U);
  EXPECT_EQ(ask(list(2, "rubbish")).error().code, "cursor.malformed");
  EXPECT_EQ(ask(list(2, "", "none")).error().code, "workflow.not_found");
}

class CallQueueQueriesTest : public QueueQueriesTest {
 protected:
  /// Stores the rows of a service for whose slots `queued` calls wait.
  void add_service(const std::string& name, uint64_t held, uint64_t queued,
                   const std::string& key = "", Sealing sealed = {}) {
    const SlotService service{.name = name};
    const CallSlotKey at = call_slot_key_of(NamespaceNumber(1), service, key);
    write_call_counts(*tx, at,
                      {.service = service,
                       .key = key,
                       .limit = 4,
                       .held = held,
                       .queued = queued,
                       .sealed = sealed});
    for (uint64_t i = 1; i <= held; ++i) {
      write_call_place(*tx, at, {.kind = QueueRow::kCallHolder, .number = i},
                       {.task = number(static_cast<uint8_t>(i)), .since = now, .limit = 4});
    }
    for (uint64_t i = 1; i <= queued; ++i) {
      write_call_place(*tx, at, {.kind = QueueRow::kCallWaiting, .priority = 3, .number = 100 + i},
                       {.task = number(static_cast<uint8_t>(100 + i)), .since = now, .limit = 2});
    }
    commit();
  }
};

TEST_F(CallQueueQueriesTest, ShowCallsThatWaitAfterTheStarts) {
  add_key("1", 1, 1);
  add_service("bank", 2, 3, "\"c-1\"");
  add_service("idle", 2, 0);
  const Json items = answer(list(10))["items"];
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0]["kind"], "starts");
  const std::string at = format_rfc3339(now);
  const Json expected{{"kind", "calls"},
                      {"reason", "concurrency"},
                      {"service", "bank"},
                      {"key", "c-1"},
                      {"limit", 2},
                      {"held", 2},
                      {"queued", 3},
                      {"next", {{"task", to_string(number(101))}, {"since", at}, {"priority", 3}}},
                      {"holder", {{"task", to_string(number(1))}, {"since", at}}}};
  EXPECT_EQ(items[1], expected);
  EXPECT_EQ(answer(list(10, "", "ship"))["items"].size(), 1U) << "only those of the workflow";
}

TEST_F(CallQueueQueriesTest, HideASealedKey) {
  add_service("bank", 1, 1, "\"secret\"", Sealing::kHidden);
  EXPECT_EQ(answer(list(10))["items"][0]["key"], "(sealed)");
}

TEST_F(CallQueueQueriesTest, HavePagesWithStartsAndCalls) {
  for (int i = 0; i < 3; ++i) add_key(std::to_string(i), 1, 1);
  for (int i = 0; i < 4; ++i) add_service(std::to_string(i), 1, 1);
  std::vector<std::string> kinds;
  size_t pages = 0;
  std::string cursor;
  do {
    const Json page = answer(list(2, cursor));
    for (const Json& item : page["items"]) kinds.push_back(item["kind"]);
    ++pages;
    cursor = page["next"].is_null() ? "" : page["next"].get<std::string>();
  } while (!cursor.empty());
  EXPECT_THAT(kinds, ElementsAre("starts", "starts", "starts", "calls", "calls", "calls", "calls"));
  EXPECT_EQ(pages, 4U);
}

}  // namespace
}  // namespace millrace
