// Processor: queues, backpressure and shutdown, as other threads see them. The tests in
// tests/simulation show the processing of inputs.
#include "orchestrator/loop/processor.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/effect_rows.h"
#include "orchestrator/store/transaction.h"
#include "tests/simulation/answer_code.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;

constexpr const char* kForEver = R"(
id: for-ever
states:
- {id: wait, type: consumeEvent, event: {type: never}}
)";

constexpr const char* kThreeStates = R"(
id: three-states
states:
- {id: a, type: noop, transition: b}
- {id: b, type: noop, transition: c}
- {id: c, type: noop}
)";

Delivery other_event(uint64_t sequence) {
  return EventInput{
      .ns = "default",
      .sequence = sequence,
      .event = EncodedEvent({.id = std::to_string(sequence), .source = "/s", .type = "other"})};
}

/// A world whose queue of deliveries is full.
struct FullQueue {
  FullQueue() {
    world.run_until_idle();
    world.broker.stop();  // the test delivers the events itself
    EXPECT_TRUE(world.intake().deliver({other_event(1), other_event(2)}));
  }
  World world{{.intake = {.batch_events = 1, .waiting_deliveries = 2}}};
};

TEST(Processor, AcceptsDeliveriesAgainWhenThereIsRoom) {
  FullQueue full;
  auto delivered =
      std::async(std::launch::async, [&] { return full.world.intake().deliver({other_event(3)}); });
  EXPECT_TRUE(full.world.processor().turn());
  EXPECT_TRUE(delivered.get());
  full.world.processor().turn();
  full.world.processor().turn();
  EXPECT_FALSE(full.world.processor().turn());
  EXPECT_EQ(full.world.processor().cursor().sequence, 3U);
}

TEST(Processor, ReleasesABlockedDeliveryOnceTheIntakeRefusesDeliveries) {
  FullQueue full;
  auto delivered =
      std::async(std::launch::async, [&] { return full.world.intake().deliver({other_event(3)}); });
  full.world.intake().refuse_deliveries();
  EXPECT_FALSE(delivered.get());
  EXPECT_FALSE(full.world.intake().deliver({other_event(3)}));

  while (full.world.processor().turn()) {
  }
  EXPECT_EQ(full.world.processor().cursor().sequence, 2U) << "accepted events are processed";
}

TEST(Processor, AnswersBusyWhenTooManyCommandsWait) {
  World world{{.intake = {.waiting_commands = 2}}};
  const Answered first = world.command(CreateNamespace{.name = "one"});
  const Answered second = world.command(CreateNamespace{.name = "two"});
  EXPECT_EQ(answer_code(world.command(CreateNamespace{.name = "three"})), "busy");
  EXPECT_EQ(answer_code(first), "not answered");
  world.run_until_idle();
  EXPECT_EQ(answer_code(first), "ok");
  EXPECT_EQ(answer_code(second), "ok");
  world.must(CreateNamespace{.name = "three"});
}

TEST(Processor, ContinuesMoreInstancesThanOneTurnGets) {
  World world({.processor = {.engine = {.limits = {.transitions_per_step = 1}}}});
  world.apply(kThreeStates);
  constexpr size_t kInstances = 700;
  for (size_t i = 0; i < kInstances; ++i) {
    world.command(StartInstance{.ns = "default", .workflow = "three-states"});
  }
  world.processor().turn();
  world.processor().turn();
  world.restart();
  world.run_until_idle();
  size_t complete = 0;
  for (const Json& instance : world.instances()) complete += instance["status"] == "complete";
  EXPECT_EQ(complete, kInstances);
}

TEST(Processor, LetsAPurgeRestBetweenTwoTurnsWhileTheStoreIsBehind) {
  World world;
  world.must(CreateNamespace{.name = "shop"});
  world.must(PutVariable{.place = {.ns = "shop"}, .key = "k", .value = {.bytes = "1"}});
  // The checkpoint begins when the test ends.
  std::promise<void> permission;
  const std::shared_future<void> permitted = permission.get_future().share();
  world.waits_for_checkpoints = false;
  world.options().store.checkpoint_bytes = 300'000;
  world.options().store.checkpoint_clock = [permitted, looks = std::make_shared<int>(0)] {
    permitted.wait();
    return std::chrono::seconds(++*looks);
  };
  world.restart();
  world.run_until_idle();
  const std::shared_ptr<void> at_end(nullptr, [&](void*) { permission.set_value(); });
  for (int i = 0; i < 3; ++i) {
    world.must(PutVariable{.place = {.ns = "default"},
                           .key = "large",
                           .value = {.bytes = std::string(200'000, static_cast<char>('a' + i))}});
  }
  ASSERT_TRUE(world.environment().is_behind());
  const Answered deleted = world.command(DeleteNamespace{.name = "shop"});
  world.step();
  EXPECT_EQ(answer_code(deleted), "ok");
  EXPECT_EQ(world.processor().next_wake(), Duration(2));
  EXPECT_FALSE(world.processor().turn());
  const Answered created = world.command(CreateNamespace{.name = "other"});
  EXPECT_TRUE(world.processor().turn());
  EXPECT_EQ(answer_code(created), "ok") << "an input does not rest";
  EXPECT_FALSE(world.processor().turn());
  world.clock.advance(Duration(2));
  EXPECT_TRUE(world.processor().turn());
}

TEST(Processor, AnswersAllCallersWhenItStops) {
  World world;
  world.apply(kForEver);
  const Json started = world.start("for-ever");
  const Answered waiting = world.wait_for_end(started["id"], hours(1));
  world.run_until_idle();
  const Answered not_yet_waiting = world.wait_for_end(started["id"], hours(1));
  const Answered command = world.command(CreateNamespace{.name = "one"});
  EXPECT_EQ(answer_code(waiting), "not answered");

  world.processor().stop();
  EXPECT_EQ(answer_code(waiting), "stopping");
  EXPECT_EQ(answer_code(not_yet_waiting), "stopping");
  EXPECT_EQ(answer_code(command), "stopping");
  EXPECT_EQ(answer_code(world.command(CreateNamespace{.name = "two"})), "stopping");
  EXPECT_EQ(answer_code(world.wait_for_end(started["id"], hours(1))), "stopping");
  EXPECT_FALSE(world.intake().deliver({other_event(1)}));
  world.restart();
  world.must(CreateNamespace{.name = "one"});
}

TEST(Processor, RunsOnItsOwnThreadUntilItIsStopped) {
  World world;
  std::promise<Result<Json>> answered;
  world.processor().start();
  world.intake().command(World::application(kForEver),
                         [&](Result<Json> result) { answered.set_value(std::move(result)); });
  const Result<Json> result = answered.get_future().get();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ((*result)["revision"], 1);
  EXPECT_TRUE(world.intake().wait_until_quiet(hours(1)));
  world.processor().stop();
}

TEST(Processor, IsReadyWhileItReadsTheEventStream) {
  World world;
  EXPECT_EQ(world.processor().ready().error().code, "broker.unreachable");
  world.run_until_idle();
  EXPECT_TRUE(world.processor().ready());
  world.broker.disconnect();
  world.run_until_idle();
  EXPECT_EQ(world.processor().ready().error().code, "broker.unreachable");
  world.broker.reconnect();
  world.run_until_idle();
  EXPECT_TRUE(world.processor().ready());
}

TEST(Processor, WritesTheEffectOfADuplicateAfterASecondWithoutAnotherInput) {
  World world;
  world.apply(R"(
id: begins
start: {type: event, event: {type: begin}}
states:
- {id: end, type: noop}
)");
  world.publish("begin", "1");
  world.answer_publishes();
  const auto duplicates = [&] {
    const Snapshot view = Snapshot::take(world.environment()).value();
    size_t found = 0;
    for (uint64_t sequence = 1; sequence <= 4; ++sequence) {
      const std::vector<EventEffect> effects = read_effects(view, {1, sequence}).value();
      found += static_cast<size_t>(std::count_if(
          effects.begin(), effects.end(),
          [](const EventEffect& one) { return one.kind == EventEffect::Kind::kDuplicate; }));
    }
    return found;
  };
  NatsMessage copy = encode_nats(outside_event("begin", "1", Json(), {}));
  copy.subject = "millrace.events.default.begin";
  world.broker.inject(copy);  // without the id by which the broker would know it
  world.run_until_idle();
  EXPECT_EQ(duplicates(), 0U) << "a duplicate alone is not worth a sync";
  EXPECT_EQ(world.processor().next_wake(), std::chrono::seconds(1));
  world.run_for(std::chrono::seconds(1));
  EXPECT_EQ(duplicates(), 1U);
  EXPECT_EQ(world.processor().next_wake(), std::nullopt);
}

TEST(Processor, AnswersAQuestionAboutListenersWithoutABatch) {
  World world;
  world.apply(kForEver);
  world.start("for-ever");
  world.run_until_idle();
  size_t waiting = 0;
  world.intake().ask(
      {.answer = [&](const EngineMemory& memory) { waiting = memory.waiting.listeners(); },
       .refuse = [](const Error& why) { ADD_FAILURE() << why.message; }});
  EXPECT_FALSE(world.processor().turn()) << "the question is no work of a batch";
  EXPECT_EQ(waiting, 1U);
}

}  // namespace
}  // namespace millrace
