// Durations and ends of waits that the data decides, across restarts, pauses and early events. The
// process is killed in each test: what was evaluated is stored with the entry into the state.
#include <string>

#include <gtest/gtest.h>

#include "tests/simulation/operator_order.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(EvaluatedTimesOfInstances, AreNotEvaluatedAgainAfterARestart) {
  for (const std::string key : {"duration: jq(wait)", "until: jq(wait)"}) {
    World world;
    // Each evaluation yields another time.
    int count = 0;
    world.evaluator.define("wait", [&](const Json&) -> QueryResult {
      ++count;
      if (key.starts_with("duration")) return Json("PT" + std::to_string(count) + "H");
      return Json(format_rfc3339(world.clock.now() + hours(count)));
    });
    const std::string id =
        world.apply_order("id: order\nstates:\n- {id: a, type: delay, " + key + "}\n");
    world.run_until_idle();
    ASSERT_EQ(count, 1) << key;
    for (int i = 0; i < 3; ++i) {
      world.restart();
      world.run_until_idle();
    }
    world.run_for(minutes(59));
    EXPECT_EQ(world.status(id), "waiting") << key;
    world.run_for(minutes(1));
    EXPECT_EQ(world.status(id), "complete") << key;
    EXPECT_EQ(count, 1) << key;
  }
}

TEST(EvaluatedTimesOfInstances, AreEvaluatedAgainIfTheProcessDiesBeforeTheStateIsEntered) {
  World world;
  world.evaluator.define("wait", [](const Json&) -> QueryResult { return Json("PT1H"); });
  world.evaluator.hold();
  const std::string id = world.apply_order(R"(
id: order
states:
- {id: a, type: delay, duration: jq(wait)}
)");
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "running");
  world.restart();
  world.evaluator.release();
  world.run_until_idle();
  EXPECT_EQ(world.status(id), "waiting");
  world.run_for(hours(1));
  EXPECT_EQ(world.status(id), "complete");
}

TEST(EvaluatedTimesOfInstances, StartATimeoutAgainAfterAPauseAndARestart) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
states:
- {id: a, type: consumeEvent, event: {type: never}, timeout: jq(.wait)}
)",
                                           {{"wait", "PT1H"}});
  world.run_for(minutes(50));
  world.restart();
  world.must(PauseInstance{"default", key(id)});
  world.run_for(hours(5));
  world.restart();
  world.run_until_idle();
  world.must(ResumeInstance{"default", key(id)});
  world.restart();
  world.run_for(minutes(59));
  EXPECT_EQ(world.status(id), "waiting");
  world.run_for(minutes(1));
  EXPECT_EQ(world.instance(id)["error"]["code"], "direktiv.stateTimeout");
}

TEST(EvaluatedTimesOfInstances, KeepAnUntilThatHasPassedInAPause) {
  World world;
  const std::string id = world.apply_order(
      "id: order\nstates:\n- {id: a, type: consumeEvent, event: {type: never}, until: jq(.at)}\n",
      {{"at", "2999-01-01T00:00:00Z"}});
  // More than 100 years ahead: the instance has failed at once.
  EXPECT_EQ(world.instance(id)["error"]["code"], "millrace.duration.invalid");

  World other;
  const std::string waits = other.apply_order(
      "id: order\nstates:\n- {id: a, type: consumeEvent, event: {type: never}, until: jq(.at)}\n",
      {{"at", format_rfc3339(other.clock.now() + hours(1))}});
  other.must(PauseInstance{"default", key(waits)});
  other.run_for(hours(2));
  other.restart();
  EXPECT_EQ(other.status(waits), "paused");
  other.must(ResumeInstance{"default", key(waits)});
  other.run_for(seconds(1));
  EXPECT_EQ(other.instance(waits)["error"]["code"], "direktiv.stateTimeout");
}

TEST(EvaluatedTimesOfInstances, LetAWaitWhoseUntilIsPastTakeTheKeptEventsFirst) {
  for (const bool has_event : {true, false}) {
    World world;
    world.evaluator.define("past", [](const Json&) -> QueryResult { return Json(0); });
    world.evaluator.hold();
    const std::string id = world.apply_order(R"(
id: order
states:
- id: a
  type: consumeEvent
  event: {type: paid}
  until: jq(past)
  catch: [{error: direktiv.stateTimeout, transition: late}]
- {id: late, type: noop}
)");
    world.run_until_idle();
    // The event comes while the jq worker evaluates `until`, so it is kept for the instance.
    if (has_event) world.publish("paid", "1", 7);
    world.run_until_idle();
    world.restart();
    world.evaluator.release();
    world.run_for(seconds(1));
    EXPECT_EQ(world.status(id), "complete");
    EXPECT_EQ(world.instance(id)["output"].contains("paid"), has_event);
    EXPECT_EQ(world.instance(id)["output"].contains("error"), !has_event);
  }
}

TEST(EvaluatedTimesOfInstances, KeepTheTimeOfTheNextAttemptAcrossARestart) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
states:
- id: a
  type: consumeEvent
  event: {type: never}
  timeout: 1s
  retries: {max_attempts: 1, codes: ['*'], delay: jq(.wait)}
)",
                                           {{"wait", "PT1H"}});
  world.run_for(seconds(1));
  world.restart();
  world.run_for(minutes(59));
  EXPECT_EQ(world.status(id), "waiting");
  world.run_for(minutes(2));
  EXPECT_EQ(world.instance(id)["error"]["code"], "direktiv.retries.exceeded");
}

}  // namespace
}  // namespace millrace
