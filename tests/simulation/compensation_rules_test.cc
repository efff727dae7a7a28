// Compensations: when a state notes none, errors of their input, and their own timeouts.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/compensated_order.h"
#include "tests/simulation/operator_order.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(CompensationRules, AStateThatFailsNotesNoneAlsoIfItsErrorIsCaught) {
  World world;
  const std::string id = world.apply_order(R"(
id: order
compensate: true
functions:
- {id: do, type: knative-namespace, service: do}
- {id: undo, type: knative-namespace, service: undo}
states:
- id: first
  type: action
  action: {function: do}
  compensate: {function: undo, input: 1}
  transition: pay
- id: pay
  type: action
  action: {function: do}
  compensate: {function: undo, input: 2}
  catch: [{error: '*', transition: stop}]
  transition: stop
- {id: stop, type: error, error: no.money, message: not paid}
)");
  answer_newest_task(world, nullptr);
  fail_newest_task(world);
  EXPECT_THAT(inputs_of(world, "undo"), ElementsAre("1"));
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.instance(id)["error"]["code"], "no.money");
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.metric("millrace_compensations_noted_total"), 1);
}

TEST(CompensationRules, AnInputThatCannotBeEvaluatedIsAnErrorOfTheState) {
  World world;
  world.evaluator.define("broken", [](const Json&) -> QueryResult {
    return tl::unexpected(Error{"direktiv.jq.badCommand", "the program is broken"});
  });
  const std::string id = world.apply_order(R"(
id: order
compensate: true
functions:
- {id: do, type: knative-namespace, service: do}
- {id: undo, type: knative-namespace, service: undo}
states:
- id: pay
  type: action
  action: {function: do}
  compensate: {function: undo, input: jq(broken)}
  catch: [{error: direktiv.jq.badCommand, transition: stop}]
  transition: ship
- {id: ship, type: noop}
- {id: stop, type: error, error: not.noted, message: the payment cannot be undone}
)");
  answer_newest_task(world, 7);
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], "not.noted");
  EXPECT_THAT(inputs_of(world, "undo"), IsEmpty());
  EXPECT_EQ(world.metric("millrace_compensations_noted_total"), 0);
}

TEST(CompensationRules, ATimeoutOfOneIsItsOwnAndBeginsAgainByAnOperatorsWord) {
  World world;
  const std::string id =
      world.apply_order(compensated_steps(2, "compensate: true", ", timeout: 30s"));
  answer_newest_task(world, "a");
  world.run_for(hours(1));
  EXPECT_EQ(world.status(id), "waiting") << "the call of the state has no timeout";
  fail_newest_task(world);
  world.run_for(seconds(29));
  EXPECT_EQ(world.status(id), "running");
  world.run_for(seconds(1));
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_EQ(world.instance(id)["error"]["code"], "no") << "that of the cause";
  EXPECT_EQ(world.instance(id)["compensation"]["error"]["code"],
            "millrace.timeout.scheduleToClose");
  world.restart();
  world.must(CompensateInstance{"default", key(id)});
  EXPECT_THAT(inputs_of(world, "undo"), SizeIs(2));
  world.run_for(seconds(29));
  EXPECT_EQ(world.status(id), "running");
  answer_newest_task(world, nullptr);
  EXPECT_EQ(world.status(id), "failed");
  EXPECT_FALSE(world.instance(id).contains("compensation"));
}

}  // namespace
}  // namespace millrace
