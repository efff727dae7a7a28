// What the list of instances and one instance show of a wait that no event ends: calls, delays and
// attempts.
#include "orchestrator/service/work_waits.h"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using std::chrono::seconds;

class WorkWaitsTest : public QueryTest {
 protected:
  static constexpr const char* kAsks = R"(
id: asks
functions:
- {id: approve, type: knative-namespace, service: mail}
- {id: remind, type: subflow, workflow: reminders}
states:
- id: ask
  type: parallel
  mode: or
  actions: [{function: approve}, {function: remind}]
  transition: rest
- {id: rest, type: delay, duration: PT1H, transition: each}
- {id: each, type: foreach, array: jq(.all), action: {function: approve}, transition: end}
- {id: end, type: noop}
)";

  WorkWaitsTest() : asks(apply(kAsks)) {}

  static Ask list() {
    return
        [](Queries& queries, const View& view) { return queries.instances(view, "default", {}); };
  }
  static Ask one() {
    return [](Queries& queries, const View& view) {
      return queries.instance(view, "default", numbered_id(1));
    };
  }
  Json listed() { return answer(list())["items"][0]; }
  /// "waits" of the instance 1, which a list shows as it is shown itself.
  Json waits() {
    const Json item = listed();
    EXPECT_EQ(answer(one()).value("waits", Json()), item.value("waits", Json()));
    EXPECT_FALSE(item.contains("moreWaits"));
    return item.value("waits", Json());
  }
  /// The instance 1 in that state, with that many calls.
  Instance in_state(size_t state, size_t calls = 0) const {
    Instance instance = waiting_instance(asks, 1);
    instance.state = state;
    instance.calls.resize(calls);
    return instance;
  }
  /// The instance 1, which has called both functions.
  Instance asking() const {
    Instance instance = in_state(0, 2);
    instance.calls[0] = {
        .status = Call::Status::kRunning, .attempt = 1, .id = numbered_id(70), .outside = true};
    instance.calls[1] = {.status = Call::Status::kRunning, .attempt = 1, .id = numbered_id(71)};
    return instance;
  }

  const WorkflowNumber asks;
};

TEST_F(WorkWaitsTest, NameTheCallsThatHaveNotEnded) {
  Instance instance = asking();
  store(instance);
  const std::string since = format_rfc3339(time_of(numbered_id(70)));
  const Json approve{{"index", 0},   {"function", "approve"}, {"status", "scheduled"},
                     {"attempt", 1}, {"since", since},        {"task", to_string(numbered_id(70))}};
  const Json remind{{"index", 1},
                    {"function", "remind"},
                    {"workflow", "reminders"},
                    {"status", "scheduled"},
                    {"attempt", 1},
                    {"since", since},
                    {"instance", to_string(numbered_id(71))}};
  EXPECT_EQ(waits(), Json::array({approve, remind}));
  expect_each_read_to_count(list());
  expect_each_read_to_count(one());

  instance.calls[1].status = Call::Status::kFailed;
  store(instance);
  EXPECT_EQ(waits(), Json::array({approve}));
  instance.calls[1].status = Call::Status::kDone;
  store(instance);
  EXPECT_EQ(waits(), Json::array({approve}));
  started.add(numbered_id(70));
  EXPECT_EQ(waits()[0]["status"], "running");
}

TEST_F(WorkWaitsTest, AreNoneOfAnInstanceThatHasEndedOrWaitsForNothing) {
  store(in_state(3));
  EXPECT_EQ(waits(), nullptr);
  store(ended(in_state(3), InstanceStatus::kComplete));
  EXPECT_EQ(waits(), nullptr);
}

TEST_F(WorkWaitsTest, SayWhenACallIsTriedAgainAndSinceWhenItWaits) {
  Instance instance = asking();
  instance.calls[0].status = Call::Status::kBetween;
  instance.calls[0].retry_at = now + seconds(5);
  instance.calls[0].last_error = {.error = {"mail.down", "no answer"}, .at = now + seconds(1)};
  instance.calls[1] = {};
  instance.state_from = now - seconds(9);
  store(instance);
  const Json found = waits();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0]["status"], "retrying");
  EXPECT_EQ(found[0]["nextRetryAt"], format_rfc3339(now + seconds(5)));
  EXPECT_EQ(found[0]["since"], format_rfc3339(now + seconds(1)));
  EXPECT_EQ(found[1], (Json{{"index", 1},
                            {"function", "remind"},
                            {"workflow", "reminders"},
                            {"status", "queued"},
                            {"attempt", 0},
                            {"since", format_rfc3339(now - seconds(9))}}));
}

TEST_F(WorkWaitsTest, BoundTheCallsOfAListAndOfOneInstance) {
  struct Row {
    size_t calls = 0;
    size_t listed = 0;
    size_t shown = 0;
  };
  for (const Row& row : {Row{4, 4, 4}, Row{6, 4, 6}, Row{8, 4, 8}, Row{25, 0, 20}}) {
    store(in_state(2, row.calls));
    const Json item = listed();
    if (row.listed == 0) {
      EXPECT_EQ(item["waits"], Json::array({{{"calls", row.calls}, {"function", "approve"}}}));
      EXPECT_FALSE(item.contains("moreWaits"));
    } else {
      EXPECT_EQ(item["waits"].size(), row.listed);
      EXPECT_EQ(item.value("moreWaits", size_t{0}), row.calls - row.listed);
    }
    const Json whole = answer(one());
    EXPECT_EQ(whole["waits"].size(), row.shown);
    EXPECT_EQ(whole.value("moreWaits", size_t{0}), row.calls - row.shown);
  }
}

TEST_F(WorkWaitsTest, BoundTheBytesOfTheNamesInAList) {
  const std::string name(128, 'n');
  const WorkflowNumber wide = apply(fmt::format(R"(
id: wide
functions: [{{id: {0}, type: subflow, workflow: {0}}}]
states:
- id: call
  type: parallel
  actions: [{{function: {0}}}, {{function: {0}}}, {{function: {0}}}]
)",
                                                name));
  Instance instance = waiting_instance(wide, 1);
  instance.calls.resize(3);
  store(instance);
  const Json item = listed();
  EXPECT_EQ(item["waits"].size(), 2U);
  EXPECT_EQ(item["moreWaits"], 1);
}

TEST_F(WorkWaitsTest, CountTheCallsInAListIfTheirRowsAreDamaged) {
  store(asking());
  const Instance instance = asking();
  const std::string part = part_key(rows::instance_prefix(instance.ns, instance.id), Part::kCall);
  damage(Table::kLive, part + std::string(4, '\0'));
  EXPECT_EQ(listed()["waits"], Json::parse(R"([{"calls": 2}])"))
      << "the two calls have different functions";
}

TEST_F(WorkWaitsTest, SayUntilWhenAnInstanceWaits) {
  Instance instance = in_state(1);
  instance.timers = {{TimerKind::kKill, now + seconds(1)}, {TimerKind::kDelay, now + seconds(9)}};
  store(instance);
  const std::string until = format_rfc3339(now + seconds(9));
  const auto wait = [&](const char* what, const char* causes, const char* then) {
    return Json{{"until", until}, {"what", what}, {"causes", causes}, {"then", then}};
  };
  Json delay = wait("delay", "state", "each");
  EXPECT_EQ(waits(), Json::array({delay}));

  instance.status = InstanceStatus::kPaused;
  instance.paused = true;
  instance.held_timers = std::exchange(instance.timers, {});
  store(instance);
  delay["held"] = true;
  EXPECT_EQ(waits(), Json::array({delay}));

  instance = in_state(1);
  instance.timers = {{TimerKind::kRetry, now + seconds(9)}};
  store(instance);
  EXPECT_EQ(waits(), Json::array({wait("attempt", "attempt", "rest")}));
  instance.awaits_run = true;
  store(instance);
  EXPECT_EQ(waits(), Json::array({wait("run", "run", "ask")}));
}

TEST_F(WorkWaitsTest, NameTheFunctionOfACompensation) {
  const WorkflowNumber undone = apply(R"(
id: undone
compensate: true
functions: [{id: refund, type: subflow, workflow: refunds}]
states:
- id: pay
  type: consumeEvent
  event: {type: paid}
  compensate: {function: refund}
  transition: ship
- {id: ship, type: noop}
)");
  Instance instance = waiting_instance(undone, 1);
  note_compensation(instance, {.input = Json(1)});
  instance.status = InstanceStatus::kRunning;
  instance.error = Error{"out.of.stock", "none left"};
  instance.compensating = PendingEnd{.status = InstanceStatus::kFailed, .state = 1};
  instance.calls.resize(1);
  store(instance);
  EXPECT_EQ(waits(), (Json::array({{{"index", 0},
                                    {"function", "refund"},
                                    {"workflow", "refunds"},
                                    {"compensates", true},
                                    {"status", "queued"},
                                    {"attempt", 0},
                                    {"since", format_rfc3339(now)}}})));
}

}  // namespace
}  // namespace millrace
