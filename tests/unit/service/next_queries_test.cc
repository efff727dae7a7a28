// The query of what will fire.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class NextQueriesTest : public QueryTest {
 protected:
  static constexpr const char* kWaits = R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: paid}}
)";

  NextQueriesTest() : waits(apply(kWaits)) {}

  void store_with_timers(uint8_t number, std::vector<Timer> timers) {
    Instance instance = waiting_instance(waits, number);
    instance.timers = std::move(timers);
    store(std::move(instance));
  }

  static Ask next(NextFilter filter = {}, std::string name = "default") {
    return [=](Queries& queries, const View& view) {
      return queries.next_firings(view, name, filter);
    };
  }

  std::vector<std::string> kinds(const NextFilter& filter) {
    std::vector<std::string> found;
    const Json shown = answer(next(filter));
    for (const Json& item : shown["items"]) found.push_back(item["kind"]);
    return found;
  }

  const WorkflowNumber waits;
};

TEST_F(NextQueriesTest, ShowEverythingSoonestFirst) {
  store_with_timers(1, {{TimerKind::kStateTimeout, now + seconds(30)},
                        {TimerKind::kExecution, now + seconds(50)}});
  store_with_timers(2, {{TimerKind::kDelay, now + seconds(10)}});
  write_delayed(*tx, 7,
                {.ns = ns, .instance = numbered_id(2), .at = now + seconds(20), .event = "{}"});
  write_grouped(*tx, {.queue = {.workflow = waits},
                      .number = 3,
                      .record = {.position = {}, .expires = now + seconds(39), .event = "{}"}});
  const WorkflowNumber ticks = apply(R"(
id: ticks
start: {type: scheduled, cron: "* * * * *"}
states:
- {id: end, type: noop}
)");
  write_schedule(*tx, ticks, {.from = now, .last = std::nullopt});
  commit();
  const std::string one = to_string(numbered_id(1));
  const std::string two = to_string(numbered_id(2));
  const auto at = [&](int after) { return format_rfc3339(now + seconds(after)); };
  // `now` is 22:13:20, so the next minute begins 40 s later.
  EXPECT_EQ(
      answer(next()),
      (Json{{"items",
             {{{"at", at(10)},
               {"kind", "delay"},
               {"instance", two},
               {"workflow", "waits"},
               {"state", "wait"},
               {"causes", "end"},
               {"ends", "complete"}},
              {{"at", at(20)}, {"kind", "delayedEvent"}, {"instance", two}, {"causes", "event"}},
              {{"at", at(30)},
               {"kind", "stateTimeout"},
               {"instance", one},
               {"workflow", "waits"},
               {"state", "wait"},
               {"causes", "end"},
               {"error", "direktiv.stateTimeout"},
               {"ends", "failed"}},
              {{"at", at(39)}, {"kind", "lifespan"}, {"workflow", "waits"}, {"causes", "expiry"}},
              {{"at", at(40)}, {"kind", "tick"}, {"workflow", "ticks"}, {"causes", "start"}},
              {{"at", at(50)},
               {"kind", "executionTimeout"},
               {"instance", one},
               {"workflow", "waits"},
               {"state", "wait"},
               {"causes", "end"},
               {"error", "millrace.timeout.execution"},
               {"ends", "timedout"}}}},
            {"next", nullptr},
            {"complete", true},
            {"looked", 4}}));
  expect_each_read_to_count(next());
}

TEST_F(NextQueriesTest, ShowTheKindsAndTheTimesOfTheFilter) {
  store_with_timers(1, {{TimerKind::kStateTimeout, now + seconds(30)},
                        {TimerKind::kExecution, now + seconds(50)},
                        {TimerKind::kCalls, now + seconds(20)}});
  EXPECT_THAT(kinds({}), ElementsAre("call", "stateTimeout", "executionTimeout"));
  EXPECT_THAT(kinds({.limit = 1}), ElementsAre("call"));
  EXPECT_THAT(kinds({.until = now + seconds(30)}), ElementsAre("call", "stateTimeout"));
  EXPECT_THAT(kinds({.kinds = {FiringKind::kExecutionTimeout}}), ElementsAre("executionTimeout"));
  EXPECT_THAT(kinds({.kinds = {FiringKind::kTick}}), IsEmpty());
}

TEST_F(NextQueriesTest, ShowAllTicksOfAScheduleUntilTheEndOfTheFilter) {
  const WorkflowNumber ticks = apply(R"(
id: ticks
start: {type: scheduled, cron: "* * * * *"}
states:
- {id: end, type: noop}
)");
  write_schedule(*tx, ticks, {.from = now - seconds(300), .last = std::nullopt});
  commit();
  const auto times = [&](const NextFilter& filter) {
    std::vector<std::string> all;
    const Json shown = answer(next(filter));
    for (const Json& one : shown["items"]) all.push_back(one["at"]);
    return all;
  };
  const auto at = [&](int after) { return format_rfc3339(now + seconds(after)); };
  clock.jump(now - clock.now());  // 22:13:20; the tick that is due replaces all that were missed
  EXPECT_THAT(times({.until = now + seconds(100)}), ElementsAre(at(-260), at(40), at(100)));
  EXPECT_THAT(times({}), ElementsAre(at(-260))) << "a list without an end has the next one";
  const Json cut = answer(next({.until = now + seconds(1'000), .limit = 2}));
  EXPECT_EQ(cut["items"].size(), 2);
  EXPECT_EQ(cut["exactUntil"], at(100));
  EXPECT_EQ(cut["cutBy"], "limit");
}

TEST_F(NextQueriesTest, ShowEachKindOfTimerAlone) {
  const auto timers = static_cast<size_t>(FiringKind::kDelayedEvent);
  for (size_t kind = 0; kind < timers; ++kind) {
    Instance instance = waiting_instance(waits, static_cast<uint8_t>(kind + 1));
    instance.timers = {{static_cast<TimerKind>(kind), now + seconds(30)}};
    instance.throttled.emplace();  // only such an instance may have all kinds
    store(std::move(instance));
  }
  for (size_t kind = 0; kind < timers; ++kind) {
    EXPECT_THAT(kinds({.kinds = {static_cast<FiringKind>(kind)}}),
                ElementsAre(std::string(kFiringKinds[kind])));
  }
}

TEST_F(NextQueriesTest, SayThatTheLimitLeavesSomethingOut) {
  store_with_timers(1, {{TimerKind::kStateTimeout, now + seconds(30)},
                        {TimerKind::kExecution, now + seconds(50)},
                        {TimerKind::kCalls, now + seconds(20)}});
  const Json cut = answer(next({.limit = 2}));
  EXPECT_EQ(cut["items"].size(), 2U);
  EXPECT_EQ(cut["complete"], false);
  EXPECT_EQ(cut["cutBy"], "limit");
  EXPECT_EQ(cut["exactUntil"], format_rfc3339(now + seconds(50))) << "the next one fires then";
  const NextFilter wholes[] = {{.limit = 3}, {.until = now + seconds(30), .limit = 2}};
  for (const NextFilter& filter : wholes) {
    const Json whole = answer(next(filter));
    EXPECT_EQ(whole["items"].size(), filter.limit);
    EXPECT_EQ(whole["complete"], true);
    EXPECT_FALSE(whole.contains("exactUntil"));
    EXPECT_FALSE(whole.contains("cutBy"));
  }
}

TEST_F(NextQueriesTest, ShowOnlyTheirNamespace) {
  const NamespaceNumber shop = create_namespace("shop");
  store_with_timers(1, {{TimerKind::kDelay, now + seconds(10)}});
  write_delayed(*tx, 7,
                {.ns = ns, .instance = numbered_id(1), .at = now + seconds(20), .event = "{}"});
  write_delayed(*tx, 8,
                {.ns = shop, .instance = numbered_id(9), .at = now + seconds(5), .event = "{}"});
  commit();
  EXPECT_THAT(kinds({}), ElementsAre("delay", "delayedEvent"));
  EXPECT_EQ(answer(next({}, "shop"))["items"].size(), 1U);
  EXPECT_EQ(outcome(next({}, "none")), "namespace.not_found");
}

TEST_F(NextQueriesTest, ShowTheStateThatFollowsATimeout) {
  const WorkflowNumber caught = apply(R"(
id: caught
states:
- id: wait
  type: consumeEvent
  event: {type: paid}
  catch:
  - {error: "direktiv.*", transition: late}
- {id: late, type: noop}
)");
  Instance instance = waiting_instance(caught, 1);
  instance.timers = {{TimerKind::kStateTimeout, now + seconds(10)},
                     {TimerKind::kExecution, now + seconds(20)}};
  store(std::move(instance));
  store_with_timers(2, {{TimerKind::kStateTimeout, now + seconds(30)}});
  const Json items = answer(next())["items"];
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0]["state"], "wait");
  EXPECT_EQ(items[0]["causes"], "state");
  EXPECT_EQ(items[0]["then"], "late");
  EXPECT_EQ(items[0]["error"], "direktiv.stateTimeout");
  EXPECT_FALSE(items[1].contains("then")) << "no \"catch\" sees this timeout";
  EXPECT_FALSE(items[2].contains("then")) << "the state has no \"catch\"";
  for (const size_t number : {1, 2}) EXPECT_EQ(items[number]["causes"], "end");
}

TEST_F(NextQueriesTest, NameTheCallerThatGetsTheErrorAndWhetherItCallsAgain) {
  const WorkflowNumber trip = apply(R"(
id: trip
functions:
- {id: leg, type: subflow, workflow: waits}
states:
- id: book
  type: action
  action: {function: leg, retries: {max_attempts: 1, delay: PT1S, codes: ['*']}}
)");
  const auto store_with_attempt = [&](uint32_t attempt) {
    Instance caller = waiting_instance(trip, 1);
    caller.calls = {{.status = Call::Status::kRunning, .attempt = attempt, .id = numbered_id(2)}};
    store(std::move(caller));
    Instance leg = waiting_instance(waits, 2);
    leg.timers = {{TimerKind::kStateTimeout, now + seconds(9)}};
    leg.caller = {.instance = numbered_id(1), .entered = 0, .index = 0, .attempt = attempt};
    store(std::move(leg));
  };
  const auto caller = [&] { return answer(next())["items"].at(0).value("caller", Json()); };
  store_with_attempt(1);
  EXPECT_EQ(caller(), (Json{{"instance", to_string(numbered_id(1))}, {"retries", true}}));
  expect_each_read_to_count(next());
  store_with_attempt(2);
  EXPECT_EQ(caller(), (Json{{"instance", to_string(numbered_id(1))}, {"retries", false}}));
  store(waiting_instance(trip, 1));
  EXPECT_EQ(caller(), Json()) << "no call waits for the subflow";
}

TEST_F(NextQueriesTest, ShowThatAnInstanceIsPaused) {
  Instance instance = waiting_instance(waits, 1);
  instance.paused = true;
  instance.timers = {{TimerKind::kKill, now + seconds(10)}};
  instance.held_timers = {{TimerKind::kStateTimeout, now + seconds(5)}};
  store(std::move(instance));
  const Json items = answer(next())["items"];
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0]["kind"], "kill");
  EXPECT_EQ(items[0]["paused"], true);
}

}  // namespace
}  // namespace millrace
