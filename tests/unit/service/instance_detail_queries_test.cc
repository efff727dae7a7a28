// What one instance waits for, what is due, who started it, its calls and its children.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/service/next_filter.h"
#include "orchestrator/store/rows/history_rows.h"
#include "tests/unit/service/definitions.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class InstanceDetailQueriesTest : public QueryTest {
 protected:
  using enum InstanceStatus;
  static constexpr const char* kOrder = R"(
id: order
functions:
- {id: charge, type: subflow, workflow: charge}
- {id: pack, type: subflow, workflow: pack}
states:
- id: wait
  type: consumeEvent
  timeout: PT1H
  event: {type: paid}
  catch: [{error: 'direktiv.*', transition: cancel}]
- id: charge
  type: parallel
  actions: [{function: charge}, {function: pack}, {function: charge}]
- {id: cancel, type: noop}
)";

  InstanceDetailQueriesTest() : order(apply(kOrder)) {}

  Json shown(uint8_t number) {
    return answer([&](Queries& queries, const View& view) {
      return queries.instance(view, "default", numbered_id(number));
    });
  }
  static Ask calls_of(uint8_t number, size_t limit = 50, std::string cursor = "") {
    return [=](Queries& queries, const View& view) {
      return queries.instance_calls(view, "default", numbered_id(number), limit, cursor);
    };
  }
  static Ask children_of(uint8_t number, size_t limit = 50, std::string cursor = "") {
    return [=](Queries& queries, const View& view) {
      return queries.instance_children(view, "default", numbered_id(number), limit, cursor);
    };
  }
  /// An instance that waits for three calls.
  Instance charging(uint8_t number) const {
    Instance instance = waiting_instance(order, number);
    instance.state = 1;
    instance.calls.resize(3);
    return instance;
  }
  /// Writes the row of the history with that number, with one record; the next row follows it.
  void add_row(Instance& instance, uint64_t number, HistoryRecord record) {
    write_history(*tx, number,
                  {.ns = ns,
                   .instance = instance.id,
                   .previous = instance.last_history,
                   .records = {std::move(record)},
                   .sealed = instance.sealed});
    instance.last_history = number;
    ++instance.history_count;
  }

  const WorkflowNumber order;
};

TEST_F(InstanceDetailQueriesTest, ShowForWhichTasksTheEndOfACancelledInstanceWaits) {
  Instance instance = charging(1);
  for (Call& call : instance.calls) {
    call = {.status = Call::Status::kRunning, .attempt = 1, .id = numbered_id(9), .outside = true};
  }
  instance.calls[2].status = Call::Status::kFailed;
  store(instance);
  EXPECT_FALSE(shown(1).contains("cancelling"));
  instance.cancelling = true;
  store(instance);
  EXPECT_EQ(shown(1)["cancelling"], (Json{{"tasks", 2}})) << "the history has no record of it";
  add_row(instance, 1, {.time = now + seconds(3), .kind = HistoryKind::kCancelled});
  add_row(instance, 2, {.time = now + seconds(4), .kind = HistoryKind::kReturned});
  store(instance);
  EXPECT_EQ(shown(1)["cancelling"],
            (Json{{"tasks", 2}, {"since", format_rfc3339(now + seconds(3))}}));
  instance.calls = {};
  store(ended(instance, kCancelled));
  EXPECT_FALSE(shown(1).contains("cancelling"));
}

TEST_F(InstanceDetailQueriesTest, ShowWhatAnInstanceWaitsForAndWhatIsDue) {
  Instance instance = waiting_instance(order, 1);
  instance.transitions = 6;
  instance.state_from = now + seconds(5);
  instance.listeners = {
      {.entry = 0,
       .filter = {.type = "paid",
                  .predicates = {
                      {.attribute = "order", .kind = Predicate::Kind::kEquals, .text = "4711"}}}}};
  instance.timers = {{TimerKind::kKill, now + seconds(90)},
                     {TimerKind::kStateTimeout, now + seconds(60)}};
  instance.held_timers = {{TimerKind::kInterrupt, now + seconds(70)}};
  store(instance);
  const Json found = shown(1);
  EXPECT_EQ(found["transitions"], 6);
  EXPECT_EQ(found["waits"], (Json{{{"type", "paid"},
                                   {"context", {{"order", {{"equals", "4711"}}}}},
                                   {"since", format_rfc3339(now + seconds(5))}}}));
  EXPECT_EQ(found["timers"], (Json{{{"kind", "stateTimeout"},
                                    {"at", format_rfc3339(now + seconds(60))},
                                    {"causes", "state"},
                                    {"then", "cancel"},
                                    {"error", "direktiv.stateTimeout"}},
                                   {{"kind", "interrupt"},
                                    {"at", format_rfc3339(now + seconds(70))},
                                    {"held", true},
                                    {"causes", "state"},
                                    {"then", "cancel"},
                                    {"error", "direktiv.cancels.timeout"}},
                                   {{"kind", "kill"},
                                    {"at", format_rfc3339(now + seconds(90))},
                                    {"causes", "end"},
                                    {"error", "direktiv.cancels.timeout"},
                                    {"ends", "timedout"}}}));
  store(waiting_instance(order, 2));
  for (const char* const key :
       {"waits", "timers", "key", "correlation", "startedBy", "callCounts", "children"}) {
    EXPECT_FALSE(shown(2).contains(key)) << key;
  }
}

TEST_F(InstanceDetailQueriesTest, NameTheKindsOfTimersAsTheListOfWhatComesNextDoes) {
  uint8_t number = 0;
  for (uint8_t kind = 0; kind <= static_cast<uint8_t>(TimerKind::kThrottle); ++kind) {
    Instance instance = waiting_instance(order, ++number);
    instance.timers = {{static_cast<TimerKind>(kind), now + seconds(60)}};
    instance.throttled.emplace();  // only such an instance may have all kinds
    store(instance);
    EXPECT_EQ(shown(number)["timers"].at(0)["kind"], std::string(kFiringKinds[kind]));
  }
}

TEST_F(InstanceDetailQueriesTest, ShowTheKeyAndTheCorrelationOfTheStart) {
  Instance instance = waiting_instance(order, 1);
  instance.idempotency_key = "o-1";
  instance.correlation = "c-1";
  store(instance);
  EXPECT_EQ(shown(1)["key"], "o-1");
  EXPECT_EQ(shown(1)["correlation"], "c-1");
}

TEST_F(InstanceDetailQueriesTest, WithholdWhatMayBeDataOfASealedInstance) {
  Instance instance = waiting_instance(order, 1);
  instance.sealed = true;
  instance.idempotency_key = "4711";
  instance.correlation = "4711";
  instance.listeners = {
      {.entry = 0,
       .filter = {.type = "paid",
                  .predicates = {
                      {.attribute = "order", .kind = Predicate::Kind::kEquals, .text = "4711"}}}}};
  add_row(instance, 1,
          {.time = now,
           .kind = HistoryKind::kStarted,
           .detail = Json{{"by", "event"}, {"event", {{"type", "paid"}, {"source", "4711"}}}}});
  store(instance);
  const Json found = shown(1);
  EXPECT_EQ(found["key"], "(sealed)");
  EXPECT_EQ(found["correlation"], "(sealed)");
  EXPECT_EQ(found["waits"][0]["context"], (Json{{"order", {{"equals", "(sealed)"}}}}));
  EXPECT_EQ(found["startedBy"], (Json{{"by", "event"}, {"event", "(sealed)"}}));
  EXPECT_EQ(found.dump().find("4711"), std::string::npos) << found;
}

TEST_F(InstanceDetailQueriesTest, ShowWhoStartedAnInstance) {
  Instance instance = waiting_instance(order, 1);
  add_row(instance, 1,
          {.time = now,
           .kind = HistoryKind::kStarted,
           .detail = Json{{"by", "schedule"}, {"revision", 1}}});
  for (uint64_t row = 2; row <= 64; ++row) {
    add_row(instance, row, {.time = now, .kind = HistoryKind::kEntered, .state = "wait"});
  }
  store(instance);
  EXPECT_EQ(shown(1)["startedBy"], (Json{{"by", "schedule"}, {"revision", 1}}));
  add_row(instance, 65, {.time = now, .kind = HistoryKind::kEntered, .state = "wait"});
  store(instance);
  EXPECT_FALSE(shown(1).contains("startedBy")) << "too many rows come after the first one";
}

TEST_F(InstanceDetailQueriesTest, LeaveOutWhoStartedAnInstanceIfTheRecordIsDamagedOrTrimmed) {
  Instance instance = waiting_instance(order, 1);
  add_row(instance, 1,
          {.time = now, .kind = HistoryKind::kStarted, .detail = Json{{"by", "call"}}});
  add_row(instance, 2, {.time = now, .kind = HistoryKind::kEntered, .state = "wait"});
  store(instance);
  EXPECT_EQ(shown(1)["startedBy"], (Json{{"by", "call"}}));
  damage(Table::kHistory, rows::key_of(uint64_t{1}));
  EXPECT_FALSE(shown(1).contains("startedBy"));
  instance.history_trimmed = 1;
  store(instance);
  EXPECT_FALSE(shown(1).contains("startedBy"));
}

TEST_F(InstanceDetailQueriesTest, CountTheCallsAndTheirChildrenByStatus) {
  using Status = Call::Status;
  Instance instance = charging(1);
  instance.calls[0] = {.status = Status::kRunning, .attempt = 1, .id = numbered_id(2)};
  instance.calls[1] = {.status = Status::kDone, .attempt = 1, .id = numbered_id(3)};
  instance.calls[2] = {
      .status = Status::kRunning, .attempt = 1, .id = numbered_id(9), .outside = true};
  store(instance);
  store(waiting_instance(order, 2));
  EXPECT_EQ(shown(1)["callCounts"], (Json{{"scheduled", 2}, {"complete", 1}}));
  EXPECT_EQ(shown(1)["children"], (Json{{"counts", {{"waiting", 1}}}, {"complete", true}}))
      << "the other child was deleted, and a task is no child";
  store(ended(waiting_instance(order, 3), kComplete));
  EXPECT_EQ(shown(1)["children"]["counts"], (Json{{"waiting", 1}, {"complete", 1}}));
  damage(Table::kLive, head_key(waiting_instance(order, 2)));
  EXPECT_EQ(shown(1)["children"]["counts"], (Json{{"damaged", 1}, {"complete", 1}}));
}

TEST_F(InstanceDetailQueriesTest, ListTheCallsPageByPage) {
  Instance instance = charging(1);
  for (size_t i = 0; i < 3; ++i) {
    instance.calls[i] = {.status = Call::Status::kRunning,
                         .attempt = static_cast<uint32_t>(i + 1),
                         .id = numbered_id(70),
                         .outside = true};
  }
  store(instance);
  const Json first = answer(calls_of(1, 2));
  EXPECT_EQ(first, (Json{{"items",
                          {{{"index", 0},
                            {"function", "charge"},
                            {"status", "scheduled"},
                            {"attempt", 1},
                            {"task", to_string(numbered_id(70))}},
                           {{"index", 1},
                            {"function", "pack"},
                            {"status", "scheduled"},
                            {"attempt", 2},
                            {"task", to_string(numbered_id(70))}}}},
                         {"next", "2"}}));
  const Json second = answer(calls_of(1, 2, "2"));
  ASSERT_EQ(second["items"].size(), 1U);
  EXPECT_EQ(second["items"][0]["index"], 2);
  EXPECT_EQ(second["items"][0]["function"], "charge");
  EXPECT_EQ(second["next"], nullptr);
  EXPECT_EQ(answer(calls_of(1, 2, "7"))["items"], Json::array());
  EXPECT_EQ(outcome(calls_of(1, 2, "two")), "cursor.malformed");
  EXPECT_EQ(outcome(calls_of(9)), "instance.not_found");
  store(ended(waiting_instance(order, 2), kComplete));
  EXPECT_EQ(answer(calls_of(2))["items"], Json::array());
  damage(Table::kDefinitions, definition_key({order, 1}));
  const Json damaged = answer(calls_of(1, 2));
  EXPECT_EQ(damaged["items"].size(), 2U);
  EXPECT_FALSE(damaged["items"][0].contains("function"));
}

TEST_F(InstanceDetailQueriesTest, ListTheChildrenOldestFirst) {
  const auto add = [&](uint8_t number, TimePoint time) {
    Instance child = waiting_instance(order, number);
    child.id = make_instance_id(time, {0, 0, 0, 0, 0, 0, 0, 0, 0, number});
    child.caller = Caller{.instance = numbered_id(1)};
    store(child);
    return to_string(child.id);
  };
  store(ended(waiting_instance(order, 1), kComplete));  // it has lived for a second
  const std::string first = add(2, now);
  const std::string second = add(3, now + seconds(1));
  store(waiting_instance(order, 4));
  const Json page = answer(children_of(1, 1));
  EXPECT_EQ(page["items"][0]["id"], first);
  EXPECT_EQ(page["next"], first);
  const Json rest = answer(children_of(1, 1, first));
  EXPECT_EQ(rest["items"][0]["id"], second);
  EXPECT_EQ(rest["next"], nullptr);
  EXPECT_EQ(answer(children_of(4))["items"], Json::array());
  EXPECT_EQ(outcome(children_of(9)), "instance.not_found");
}

TEST_F(InstanceDetailQueriesTest, FailWhenAReadFails) {
  Instance instance = charging(1);
  instance.calls[0] = {.status = Call::Status::kRunning, .attempt = 1, .id = numbered_id(2)};
  add_row(instance, 1,
          {.time = now, .kind = HistoryKind::kStarted, .detail = Json{{"by", "call"}}});
  store(instance);
  store(waiting_instance(order, 2));
  for (const Ask& query : {calls_of(1), children_of(1), Ask([](Queries&queries, const View&view) {
                             return queries.instance(view, "default", numbered_id(1));
                           })}) {
    expect_each_read_to_count(query);
  }
}

}  // namespace
}  // namespace millrace
