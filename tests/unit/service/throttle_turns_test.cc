// The turns of throttles in the list of what comes next.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/rows/start_rate_rows.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

class ThrottleTurnsTest : public QueryTest {};

TEST_F(ThrottleTurnsTest, AreThoseOfTheNextStarts) {
  const WorkflowNumber send = apply(
      "id: send\nthrottle: {limit: 1, period: PT1M, key: jq(.c)}\n"
      "states:\n- {id: a, type: noop}\n");
  for (const char* const text : {"\"c-1\"", "\"c-2\""}) {
    const SlotKey key = throttle_key_of(send, text);
    write_slot_counts(*tx, key, {.key = text, .queued = 2});
    write_slot_place(*tx, key, waiting_slot({.key = text, .priority = 3, .number = 7}),
                     {.instance = numbered_id(7), .since = now});
  }
  const SlotKey slots = slot_key_of(send, "");
  write_slot_counts(*tx, slots, {.held = 1, .queued = 1});  // a key of slots is no throttle
  const TimePoint at = now + std::chrono::minutes(1);
  const SlotKey first = throttle_key_of(send, "\"c-1\"");
  ASSERT_TRUE(write_start_rate(
      *tx, throttle_rate_place(tx->seal().id_key(), send, first.key),
      {.ns = ns, .ends = at, .listed = at, .use = {{{.first = now, .last = now}}}}, true));
  commit();
  const auto next = [](size_t rows) {
    return [rows](Queries& queries, const View& view) {
      return queries.next_firings(view, "default", {.kinds = {FiringKind::kThrottle}},
                                  {.rows = rows});
    };
  };
  const Json expected{{"at", format_rfc3339(at)},
                      {"kind", "throttle"},
                      {"workflow", "send"},
                      {"key", "c-1"},
                      {"queued", 2},
                      {"instance", to_string(numbered_id(7))},
                      {"causes", "start"}};
  EXPECT_EQ(answer(next(10))["items"], Json::array({expected})) << "the other one begins at once";
  EXPECT_EQ(answer(next(10))["complete"], true);
  EXPECT_EQ(answer(next(1))["cutBy"], "look");
}

TEST_F(ThrottleTurnsTest, AreThoseOfTheNextCalls) {
  const SlotService service{.name = "bank"};
  const CallSlotKey at = call_throttle_key_of(ns, service, "7");
  write_call_counts(*tx, at, {.service = service, .key = "7", .limit = 1, .queued = 3});
  write_call_place(*tx, at, {.kind = QueueRow::kCallThrottled, .number = 9},
                   {.task = numbered_id(9),
                    .since = now,
                    .limit = 1,
                    .period = Span{.fixed = std::chrono::hours(1), .text = "PT1H"}});
  const TimePoint permitted = now + std::chrono::hours(1);
  ASSERT_TRUE(write_start_rate(
      *tx, call_rate_place(tx->seal().id_key(), ns, at.key),
      {.ns = ns, .ends = permitted, .listed = permitted, .use = {{{.first = now, .last = now}}}},
      true));
  commit();
  const Json expected{{"at", format_rfc3339(permitted)},
                      {"kind", "throttle"},
                      {"service", "bank"},
                      {"key", 7},
                      {"queued", 3},
                      {"task", to_string(numbered_id(9))},
                      {"causes", "handOut"}};
  const auto turns = [&] {
    return answer([](Queries& queries, const View& view) {
      return queries.next_firings(view, "default", {.kinds = {FiringKind::kThrottle}});
    })["items"];
  };
  EXPECT_EQ(turns(), Json::array({expected}));
  set_settings({{"paused", {"bank"}}});
  EXPECT_EQ(turns()[0].value("paused", false), true) << "no call is made before the resume";
}

}  // namespace
}  // namespace millrace
