// LocalWhyDesk: what the limits of a workflow would do with a start by a test event.
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "cloudevents/json_format.h"
#include "matchers/correlation.h"
#include "orchestrator/batch/pending_starts.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/rows/start_rate_rows.h"
#include "tests/unit/service/why_desk_fixture.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

class LimitsWhyTest : public LocalWhyDeskTest {
 protected:
  /// The event that is tried; `jq(.paid.c)` yields "a".
  static constexpr const char* kData = R"(,"data":{"c":"a","rank":1})";
  static constexpr const char* kKey = "\"a\"";

  WorkflowNumber apply_limited(const std::string& id, const std::string& limits) {
    return apply("id: " + id + "\n" + limits +
                 "\nstart: {type: event, event: {type: paid}}\nstates:\n- {id: end, type: noop}\n");
  }
  /// What is shown of the start of a workflow by the event.
  Json tried(const std::string& id) {
    const Json answer = of_test(kData);
    for (const Json& one : answer["near"]) {
      if (one["workflow"] == id) return one;
    }
    ADD_FAILURE() << "no start of " << id;
    return Json::object();
  }
  /// Its member `start`, with the code in place of the error.
  static Json start_in(const Json& listener) {
    Json start = listener.value("start", Json::object());
    if (start.contains("error")) start["error"] = Json(start["error"]["code"]);
    return start;
  }

  // Rows. Each call commits.

  /// A start for the key, at the time of the clock.
  void add_start(const StartRatePlace& place, Duration period) {
    const TimePoint end = clock.time + period;
    ASSERT_TRUE(write_start_rate(*tx, place,
                                 {.ns = ns,
                                  .ends = end,
                                  .listed = end,
                                  .use = {{{.first = clock.time, .last = clock.time}}}},
                                 true));
    commit();
  }
  StartRatePlace rate_place(WorkflowNumber workflow, const std::string& key) const {
    return {workflow, keyed_fingerprint(tx->seal().id_key(), {key})};
  }
  /// An instance that holds the one slot of the key.
  void add_holder(WorkflowNumber workflow, const std::string& key, uint8_t number) {
    const Slot slot{.key = key, .number = number, .is_queued = false};
    Instance instance = waiting_instance(workflow, number);
    instance.slot = slot;
    store(instance);
    const SlotKey at = slot_key_of(workflow, key);
    write_slot_counts(*tx, at, {.key = key, .held = 1});
    write_slot_place(*tx, at, slot, {.instance = instance.id, .since = now});
    commit();
  }
  /// Starts with these priorities that wait for the key; one instance holds its slot.
  void add_waiting_starts(const SlotKey& at, const std::vector<int32_t>& priorities) {
    write_slot_counts(*tx, at,
                      {.key = kKey, .held = at.is_throttle ? 0U : 1U, .queued = priorities.size()});
    uint8_t number = 100;
    for (const int32_t priority : priorities) {
      ++number;
      write_slot_place(*tx, at,
                       {.key = kKey, .priority = priority, .number = number, .is_queued = true},
                       {.instance = numbered_id(number), .since = now});
    }
    commit();
  }
  void add_pending(const PendingStartPlace& place, PendingStart pending) {
    pending.id = numbered_id(9);
    pending.listed = pending.at;
    pending.input = pending.how = Json::object();
    ASSERT_TRUE(write_pending_start(*tx, place, pending, std::nullopt));
    commit();
  }

  std::string after(Duration time) const { return format_rfc3339(clock.time + time); }
};

TEST_F(LimitsWhyTest, SayWhatEachLimitWouldDoWithAStart) {
  const Json starts = {{"outcome", "starts"}};
  struct Row {
    std::string id;
    std::string limits;
    Json with_room;
    std::function<void(WorkflowNumber)> fill;
    Json without_room;
    std::string verdict;
    std::string says;
  };
  const Row rows[] = {
      {"single",
       "singular: true",
       starts,
       [&](WorkflowNumber workflow) { store(waiting_instance(workflow, 1)); },
       {{"outcome", "skipped"}, {"reason", "singular"}, {"error", "direktiv.mutex"}},
       "skipped",
       "the workflow is singular and has a live instance, "},
      {"rated",
       "rateLimit: {limit: 1, period: PT1H, key: jq(.paid.c)}",
       starts,
       [&](WorkflowNumber workflow) { add_start(rate_place(workflow, kKey), minutes(60)); },
       {{"outcome", "skipped"},
        {"reason", "rateLimit"},
        {"key", "a"},
        {"limit", 1},
        {"period", "PT1H"},
        {"nextAt", after(minutes(60))},
        {"error", "millrace.rateLimit"}},
       "rateLimit",
       "rate limit of workflow rated, key \"a\" (1 in PT1H): it is used up, so the start would be "
       "skipped"},
      {"debounced",
       "debounce: {period: PT1M, timeout: PT1M, key: jq(.paid.c)}",
       {{"outcome", "debounced"},
        {"reason", "debounce"},
        {"key", "a"},
        {"startsAt", after(minutes(1))}},
       [&](WorkflowNumber workflow) {
         add_pending({ns, workflow, keyed_fingerprint(tx->seal().id_key(), {kKey})},
                     {.first = clock.time - seconds(50), .at = clock.time + seconds(5)});
       },
       {{"outcome", "debounced"},
        {"reason", "debounce"},
        {"key", "a"},
        {"startsAt", after(seconds(10))},
        {"instance", to_string(numbered_id(9))}},
       "debounced",
       "which would put off the start until " + after(seconds(10))},
      {"batched",
       "batch: {maxSize: 4, timeout: PT1M, key: jq(.paid.c)}",
       {{"outcome", "batched"},
        {"reason", "batch"},
        {"key", "a"},
        {"limit", 4},
        {"size", 1},
        {"startsAt", after(minutes(1))}},
       [&](WorkflowNumber workflow) {
         add_pending(batch_place(tx->seal().id_key(), {.number = workflow, .ns = ns}, kKey),
                     {.first = clock.time,
                      .at = clock.time + seconds(30),
                      .batch = PendingBatch{.inputs = 2, .bytes = 100}});
       },
       {{"outcome", "batched"},
        {"reason", "batch"},
        {"key", "a"},
        {"limit", 4},
        {"size", 3},
        {"startsAt", after(seconds(30))},
        {"instance", to_string(numbered_id(9))}},
       "batched",
       "it would be input 3 of 4, and the instance would start at " + after(seconds(30))},
      {"full",
       "batch: {maxSize: 3, timeout: PT1M}",
       {{"outcome", "batched"},
        {"reason", "batch"},
        {"limit", 3},
        {"size", 1},
        {"startsAt", after(minutes(1))}},
       [&](WorkflowNumber workflow) {
         add_pending(batch_place(tx->seal().id_key(), {.number = workflow, .ns = ns}, "null"),
                     {.first = clock.time,
                      .at = clock.time + seconds(30),
                      .batch = PendingBatch{.inputs = 2, .bytes = 100}});
       },
       {{"outcome", "batched"},
        {"reason", "batch"},
        {"limit", 3},
        {"size", 3},
        {"startsAt", after(seconds(0))},
        {"instance", to_string(numbered_id(9))}},
       "batched",
       "it would be input 3 of 3"},
      {"queued",
       "concurrency: {limit: 1, key: jq(.paid.c)}\npriority: jq(.paid.rank)",
       starts,
       [&](WorkflowNumber workflow) {
         add_waiting_starts(slot_key_of(workflow, kKey), {0, 5, 1});
       },
       {{"outcome", "waits"},
        {"reason", "concurrency"},
        {"key", "a"},
        {"limit", 1},
        {"held", 1},
        {"waiting", 3},
        {"before", 2},
        {"priority", 1}},
       "started",
       "which would wait for a slot of its `concurrency` (limit 1, key \"a\"): 2 starts wait "
       "before it; `millrace -n default queue list`"},
      {"rejected",
       "concurrency: {limit: 1, onLimit: reject}",
       starts,
       [&](WorkflowNumber workflow) { add_holder(workflow, "", 2); },
       {{"outcome", "skipped"},
        {"reason", "concurrency"},
        {"limit", 1},
        {"held", 1},
        {"waiting", 0},
        {"error", "millrace.concurrency.limit"}},
       "skipped",
       "workflow \"rejected\" has no free slot of its `concurrency` (limit 1), so the start would "
       "be skipped"},
      {"skipped",
       "concurrency: {limit: 1, onLimit: skip}",
       starts,
       [&](WorkflowNumber workflow) { add_holder(workflow, "", 3); },
       {{"outcome", "skipped"},
        {"reason", "concurrency"},
        {"limit", 1},
        {"held", 1},
        {"waiting", 0},
        {"error", "millrace.concurrency.skipped"}},
       "skipped",
       "workflow \"skipped\" has no free slot"},
      {"replaced",
       "concurrency: {limit: 1, onLimit: replace}",
       starts,
       [&](WorkflowNumber workflow) { add_holder(workflow, "", 4); },
       {{"outcome", "replaces"},
        {"reason", "concurrency"},
        {"limit", 1},
        {"held", 1},
        {"waiting", 0},
        {"instance", to_string(numbered_id(4))}},
       "started",
       "for which instance " + to_string(numbered_id(4)) + " would be cancelled"},
      {"throttled",
       "throttle: {limit: 1, period: PT1M, key: jq(.paid.c)}",
       starts,
       [&](WorkflowNumber workflow) {
         const SlotKey key = throttle_key_of(workflow, kKey);
         add_start(throttle_rate_place(tx->seal().id_key(), workflow, key.key), minutes(1));
         add_waiting_starts(key, {3});
       },
       {{"outcome", "waits"},
        {"reason", "throttle"},
        {"key", "a"},
        {"limit", 1},
        {"period", "PT1M"},
        {"waiting", 1},
        {"before", 1},
        {"priority", 0},
        {"nextAt", after(minutes(1))}},
       "started",
       "which would wait for the `throttle` (limit 1 in PT1M, key \"a\"): 1 start waits before it; "
       "the throttle permits the next start at " +
           after(minutes(1))},
  };
  for (const Row& row : rows) {
    const WorkflowNumber workflow = apply_limited(row.id, row.limits);
    EXPECT_EQ(start_in(tried(row.id)), row.with_room) << row.id;
    row.fill(workflow);
    const Json listener = tried(row.id);
    EXPECT_EQ(start_in(listener), row.without_room) << row.id;
    EXPECT_EQ(listener["verdict"], row.verdict) << row.id;
    EXPECT_THAT(listener["says"].get<std::string>(), HasSubstr(row.says)) << row.id;
  }
}

TEST_F(LimitsWhyTest, SayWhichQuotaWouldRefuseAStart) {
  struct Row {
    std::string id;
    std::string limits;
    std::string quota;  ///< of one, which is used up
    std::function<void(WorkflowNumber)> fill;
  };
  const WorkflowNumber order = apply(kOrder);
  const Row rows[] = {
      {"live", "", "instances", [&](WorkflowNumber) { store(waiting_instance(order, 1)); }},
      {"slots", "concurrency: {limit: 1, key: jq(.paid.c)}", "queuedStarts",
       [&](WorkflowNumber workflow) { add_waiting_starts(slot_key_of(workflow, kKey), {0}); }},
      {"waits", "throttle: {limit: 1, period: PT1M, key: jq(.paid.c)}", "queuedStarts",
       [&](WorkflowNumber workflow) {
         add_waiting_starts(throttle_key_of(workflow, kKey), {0});
         const SlotKey key = throttle_key_of(workflow, kKey);
         add_start(throttle_rate_place(tx->seal().id_key(), workflow, key.key), minutes(1));
       }},
      {"rates", "rateLimit: {limit: 1, period: PT1H, key: jq(.paid.c)}", "startKeys",
       [&](WorkflowNumber workflow) { add_start(rate_place(workflow, "\"b\""), minutes(60)); }},
      {"throttles", "throttle: {limit: 1, period: PT1M, key: jq(.paid.c)}", "startKeys",
       [&](WorkflowNumber) {}},
      {"debounces", "debounce: {period: PT1M, key: jq(.paid.c)}", "startKeys",
       [&](WorkflowNumber) {}},
      {"batches", "batch: {maxSize: 4, timeout: PT1M, key: jq(.paid.c)}", "startKeys",
       [&](WorkflowNumber) {}},
  };
  for (const Row& row : rows) {
    set_settings({{"quotas", Json::object()}});
    row.fill(apply_limited(row.id, row.limits));
    EXPECT_NE(start_in(tried(row.id))["outcome"], "refused") << row.id;
    set_settings({{"quotas", {{row.quota, 1}}}});
    const Json listener = tried(row.id);
    EXPECT_EQ(start_in(listener), (Json{{"outcome", "refused"},
                                        {"reason", "quota"},
                                        {"error", "millrace.quota." + row.quota}}))
        << row.id;
    EXPECT_EQ(listener["verdict"], "dead") << row.id;
    EXPECT_THAT(listener["says"].get<std::string>(),
                HasSubstr("the event would become a dead letter: millrace.quota." + row.quota))
        << row.id;
  }
}

TEST_F(LimitsWhyTest, DoNotCountRowsThatTheBatchOfTheStartErases) {
  const WorkflowNumber slots = apply_limited("slots", "concurrency: {limit: 1, onLimit: reject}");
  write_slot_counts(*tx, slot_key_of(slots, ""), {.held = 1});
  write_slot_place(*tx, slot_key_of(slots, ""), {.number = 1, .is_queued = false},
                   {.instance = numbered_id(1), .since = now});
  commit();
  EXPECT_EQ(start_in(tried("slots"))["outcome"], "starts") << "its instance does not exist";

  const WorkflowNumber rates =
      apply_limited("rates", "rateLimit: {limit: 1, period: PT1H, key: jq(.paid.c)}");
  set_settings({{"quotas", {{"startKeys", 1}}}});
  add_start(rate_place(rates, "\"b\""), minutes(60));
  clock.time += minutes(59);
  EXPECT_EQ(start_in(tried("rates"))["outcome"], "refused");
  clock.time += minutes(1);
  EXPECT_EQ(start_in(tried("rates"))["outcome"], "starts") << "the other key has ended";
}

TEST_F(LimitsWhyTest, SayThatAKeyCannotBeEvaluated) {
  const std::vector<std::pair<std::string, std::string>> limits = {
      {"rateLimit", "rateLimit: {limit: 1, period: PT1H, key: jq(.paid.c.d)}"},
      {"debounce", "debounce: {period: PT1M, key: jq(.paid.c.d)}"},
      {"batch", "batch: {maxSize: 4, timeout: PT1M, key: jq(.paid.c.d)}"},
      {"concurrency", "concurrency: {limit: 1, key: jq(.paid.c.d)}"},
      {"throttle", "throttle: {limit: 1, period: PT1M, key: jq(.paid.c.d)}"}};
  for (const auto& [limit, text] : limits) {
    apply_limited("w", text);
    const Json listener = tried("w");
    EXPECT_EQ(start_in(listener),
              (Json{{"outcome", "refused"}, {"reason", limit}, {"error", "millrace.startKey"}}))
        << limit;
    EXPECT_EQ(listener["verdict"], "dead") << limit;
  }
}

TEST_F(LimitsWhyTest, LetAStartOfAPausedWorkflowWaitForItsThrottle) {
  apply_limited("paused", "throttle: {limit: 5, period: PT1M}");
  auto record = read_workflow(*tx, ns, "paused").value().value();
  record.paused = true;
  write_workflow(*tx, ns, "paused", record);
  commit();
  const Json listener = tried("paused");
  EXPECT_EQ(listener["verdict"], "paused");
  EXPECT_EQ(start_in(listener), (Json{{"outcome", "waits"},
                                      {"reason", "throttle"},
                                      {"limit", 5},
                                      {"period", "PT1M"},
                                      {"waiting", 0},
                                      {"before", 0},
                                      {"priority", 0}}));
}

TEST_F(LimitsWhyTest, EvaluateTheKeyOverAllEventsOfAGroup) {
  const WorkflowNumber pair = apply(R"(
id: pair
concurrency: {limit: 1, onLimit: reject, key: jq(.packed.c)}
start: {type: eventsAnd, correlate: [orderid], events: [{type: paid}, {type: packed}]}
states:
- {id: end, type: noop}
)");
  Event packed{.id = "p", .source = "store", .type = "packed", .data = R"({"c":"z"})"};
  packed.extensions["orderid"] = std::string("o-1");
  const auto record = read_workflow(*tx, ns, "pair").value().value();
  const std::string key = correlation_key(Attributes(packed), {"orderid"}).value();
  const Fingerprint group = record.groups_from == 0
                                ? fingerprint({key})
                                : fingerprint({key, std::to_string(record.groups_from)});
  write_counts(*tx, pair, group, {0, 1});
  write_grouped(*tx, {.queue = {pair, group, 1},
                      .number = 1,
                      .record = {.position = {stream(), 1}, .event = encode_json_event(packed)}});
  add_holder(pair, "\"z\"", 2);
  const Json answer = of_test(R"(,"orderid":"o-1")");
  EXPECT_THAT(verdicts(answer), testing::ElementsAre("start pair skipped"));
  EXPECT_EQ(start_in(answer["near"][0]), (Json{{"outcome", "skipped"},
                                               {"reason", "concurrency"},
                                               {"key", "z"},
                                               {"limit", 1},
                                               {"held", 1},
                                               {"waiting", 0},
                                               {"error", "millrace.concurrency.limit"}}));
  EXPECT_FALSE(of_test(R"(,"orderid":"o-2")")["near"][0].contains("start"))
      << "the event starts nothing yet";
}

TEST_F(LimitsWhyTest, SayThatNotAllLimitsWereAsked) {
  apply_limited("w", "singular: true");
  auto event = decode_nats({.data = event_text(kData)});
  ASSERT_TRUE(event) << event.error().message;
  const Json answer = shown(desk({.predicted = 0}).of_test_event("default", *std::move(event), {}));
  EXPECT_FALSE(answer["near"][0].contains("start"));
  EXPECT_EQ(answer["complete"], false);
}

}  // namespace
}  // namespace millrace
