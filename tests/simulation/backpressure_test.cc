// Backpressure: while too much waits, new work is held back and live instances continue.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/answer_code.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::SizeIs;

constexpr const char* kPublishes = R"(
id: tells
start: {type: event, event: {type: tell}}
states:
- {id: tell, type: generateEvent, event: {type: told, source: /t}}
)";

constexpr const char* kThinks = R"(
id: thinks
start: {type: event, event: {type: think}}
states:
- {id: think, type: noop, transform: jq(think)}
)";

void refuse_messages(World& world) {
  world.broker.decide_fates([](const NatsMessage&) {
    return PublishFate{.refused = Error{"broker.refused", "no room"}};
  });
}
void accept_messages(World& world) {
  world.broker.decide_fates([](const NatsMessage&) { return PublishFate{}; });
}

StartInstance start_of(std::string workflow) {
  return {.ns = "default", .workflow = std::move(workflow), .input = Json::object()};
}

TEST(Backpressure, HoldsBackNewWorkWhenTheOutboxIsTooFull) {
  World world({.processor = {.marks = {.outbox_bytes = 2'000}}});
  world.apply(kPublishes);
  refuse_messages(world);
  for (int i = 0; i < 50; ++i) {
    world.publish("tell", fmt::format("{}", i));
    world.step();
  }
  EXPECT_EQ(answer_code(world.command(start_of("tells"))), "busy");
  const double started = world.metric("millrace_instances_started_total");
  EXPECT_LT(started, 20);
  EXPECT_EQ(world.metric("millrace_refuses_work"), 1);
  EXPECT_EQ(world.processor().ready().error().code, "busy");

  accept_messages(world);
  world.run_for(seconds(5));
  EXPECT_EQ(world.metric("millrace_refuses_work"), 0);
  EXPECT_THAT(world.instances(), SizeIs(50)) << "no event is lost";
  EXPECT_THAT(world.events("told"), SizeIs(50));
  EXPECT_EQ(world.metric("millrace_outbox_bytes"), 0);
}

TEST(Backpressure, ContinuesAfterARestart) {
  World world({.processor = {.marks = {.outbox_bytes = 2'000}}});
  world.apply(kPublishes);
  refuse_messages(world);
  for (int i = 0; i < 30; ++i) {
    world.publish("tell", fmt::format("{}", i));
    world.step();
  }
  world.restart();
  world.step();
  EXPECT_EQ(answer_code(world.command(start_of("tells"))), "busy");
  accept_messages(world);
  world.run_for(seconds(5));
  EXPECT_EQ(world.metric("millrace_outbox_bytes"), 0);
  const Answered taken = world.command(start_of("tells"));
  EXPECT_EQ(answer_code(taken), "not answered") << (*taken)->error().message;
}

TEST(Backpressure, HoldsBackNewWorkWhenTooManyEvaluationsWait) {
  World world({.processor = {.marks = {.evaluations = 10}}});
  world.apply(kThinks);
  world.apply(kPublishes);
  world.evaluator.define("think", [](const Json& input) -> QueryResult { return input; });
  world.evaluator.hold();
  for (int i = 0; i < 50; ++i) {
    world.publish("think", fmt::format("{}", i));
    world.step();
  }
  EXPECT_THAT(world.instances(), SizeIs(10));
  EXPECT_EQ(answer_code(world.command(start_of("tells"))), "busy");
  const InstanceId id = *parse_instance_id(world.instances()[0]["id"].get<std::string>());
  const Answered cancelled = world.command(CancelInstance{.ns = "default", .instance = id});
  world.step();
  EXPECT_EQ(answer_code(cancelled), "ok");

  world.evaluator.answer();
  world.step();
  world.step();
  EXPECT_THAT(world.instances(), SizeIs(50)) << "one batch starts all waiting instances";
  world.evaluator.release();
  world.run_until_idle();
  for (const Json& instance : world.instances()) {
    EXPECT_EQ(instance["status"], instance["id"] == to_string(id) ? "cancelled" : "complete");
  }
}

TEST(Backpressure, HoldsBackNewWorkWhileTooManyResultsOfEvaluationsWait) {
  World world({.processor = {.marks = {.evaluations = 2}}});
  world.apply(kThinks);
  world.apply(kPublishes);
  world.evaluator.define("think", [](const Json& input) -> QueryResult { return input; });
  world.evaluator.hold();
  for (int i = 0; i < 4; ++i) world.command(start_of("thinks"));
  world.step();
  ASSERT_EQ(world.evaluator.waiting(), 4U);
  world.evaluator.release();
  world.clock.let_looks_take(seconds(1));  // so that a turn applies one result
  std::vector<std::string> codes;
  for (int i = 0; i < 4; ++i) {
    world.processor().turn();
    codes.push_back(answer_code(world.command(start_of("tells"))));
  }
  EXPECT_THAT(codes, testing::ElementsAre("busy", "busy", "not answered", "not answered"));
}

TEST(Backpressure, LetsLiveInstancesContinueWhenTheStoreIsNearlyFull) {
  World world;
  world.apply(R"(
id: rests
start: {type: event, event: {type: rest}}
states:
- {id: rest, type: delay, duration: PT10S}
)");
  world.publish("rest", "1");
  world.run_until_idle();
  const uint64_t used = world.stored_bytes();
  world.crash();
  world.options().store.soft_limit_bytes = used + used / 16;
  world.recover();
  world.run_until_idle();
  EXPECT_EQ(answer_code(world.command(start_of("rests"))), "store.full");
  world.publish("rest", "2");
  world.run_for(seconds(11));
  ASSERT_THAT(world.instances(), SizeIs(1));
  EXPECT_EQ(world.instances()[0]["status"], "complete");

  world.crash();
  world.options().store.soft_limit_bytes = 16 * used;
  world.recover();
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(2));
}

}  // namespace
}  // namespace millrace
