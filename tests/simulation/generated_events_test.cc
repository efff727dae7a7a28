// Generated events: their order and their ids. Evaluations by jq workers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/headers.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// A workflow that publishes three events, each with the input of the instance.
constexpr const char* kPublishesThrice = R"(
id: thrice
states:
- {id: a, type: generateEvent, event: {type: told, source: /t, data: 'jq({who: .who, n: 1})'}, transition: b}
- {id: b, type: generateEvent, event: {type: told, source: /t, data: 'jq({who: .who, n: 2})'}, transition: c}
- {id: c, type: generateEvent, event: {type: told, source: /t, data: 'jq({who: .who, n: 3})'}}
)";

/// The published events in the order of the stream, without duplicates: `A1 A2`.
std::string published(const World& world, const std::string& who = "") {
  std::string line;
  std::vector<std::string> ids;
  for (const Event& event : world.events("told")) {
    if (std::find(ids.begin(), ids.end(), event.id) != ids.end()) continue;
    ids.push_back(event.id);
    const Json data = payload(event);
    if (!who.empty() && data["who"] != who) continue;
    line += fmt::format("{}{}{}", line.empty() ? "" : " ", data["who"].get<std::string>(),
                        data["n"].get<int>());
  }
  return line;
}

TEST(GeneratedEvents, ArePublishedOnceAfterTheCommit) {
  World world;
  world.apply(kPublishesThrice);
  const Answered answered =
      world.command(StartInstance{.ns = "default", .workflow = "thrice", .input = {{"who", "A"}}});
  world.crash_after_commit();
  EXPECT_THAT(world.broker.events(), IsEmpty());
  world.recover();
  world.run_until_idle();
  EXPECT_EQ(published(world), "A1 A2 A3");
  const std::string instance = world.instances().at(0)["id"];
  EXPECT_EQ(world.events("told")[0].id.rfind(instance, 0), 0U);

  // After a restart millrace does not send the events again.
  world.restart();
  world.run_for(minutes(5));
  EXPECT_THAT(world.events("told"), SizeIs(3));
}

TEST(GeneratedEvents, AreSentAgainUnderTheirIdUntilTheyAreAcknowledged) {
  World world;
  world.apply(kPublishesThrice);
  int failures = 3;
  world.broker.decide_fates([&](const NatsMessage&) {
    PublishFate fate;
    switch (failures--) {
      case 3:
        fate.arrives = false;
        break;
      case 2:
        fate.acked = false;
        break;
      case 1:
        fate.refused = Error{"broker.refused", "the stream is full"};
        break;
      default:
        break;
    }
    return fate;
  });
  world.start("thrice", {{"who", "A"}});
  world.run_for(minutes(1));
  EXPECT_EQ(published(world), "A1 A2 A3");
  EXPECT_EQ(world.events("told").size(), 3U) << "the broker drops the second message by its id";
  EXPECT_EQ(world.metric("millrace_outbox_in_flight"), 0);
}

TEST(GeneratedEvents, KeepTheirOrderWithinAnInstanceIfOneIsNotAcknowledged) {
  for (int failing = 0; failing < 6; ++failing) {
    for (const bool arrives : {false, true}) {
      World world;
      world.apply(kPublishesThrice);
      int sent = 0;
      world.broker.decide_fates([&](const NatsMessage&) {
        PublishFate fate;
        if (sent++ == failing) {
          fate.arrives = arrives;
          fate.acked = false;
        }
        return fate;
      });
      world.command(StartInstance{.ns = "default", .workflow = "thrice", .input = {{"who", "A"}}});
      world.command(StartInstance{.ns = "default", .workflow = "thrice", .input = {{"who", "B"}}});
      world.run_for(minutes(1));
      EXPECT_EQ(published(world, "A"), "A1 A2 A3") << failing;
      EXPECT_EQ(published(world, "B"), "B1 B2 B3") << failing;
    }
  }
}

TEST(GeneratedEvents, KeepTheirOrderIfTheBrokerTakesLongestForTheFirst) {
  World world;
  world.apply(kPublishesThrice);
  int delay = 8;
  world.broker.decide_fates([&](const NatsMessage&) {
    return PublishFate{.delay = std::max(0, delay -= 3), .ack_delay = 2};
  });
  world.start("thrice", {{"who", "A"}});
  world.run_until_idle();
  EXPECT_EQ(published(world), "A1 A2 A3");
}

TEST(GeneratedEvents, DoNotWaitForEventsOfAnotherInstance) {
  World world;
  world.apply(kPublishesThrice);
  world.broker.decide_fates([](const NatsMessage& message) {
    PublishFate fate;
    fate.arrives = message.data.find(R"("who":"A")") == std::string::npos;
    return fate;
  });
  for (const char* who : {"A", "B"}) {
    world.command(StartInstance{.ns = "default", .workflow = "thrice", .input = {{"who", who}}});
  }
  world.run_until_idle();
  EXPECT_EQ(published(world), "B1 B2 B3");
  world.broker.decide_fates({});
  world.run_for(minutes(1));
  EXPECT_EQ(published(world), "B1 B2 B3 A1 A2 A3");
}

TEST(GeneratedEvents, ArePublishedAtTheEndOfTheirDelay) {
  World world;
  world.apply(R"(
id: reminds
states:
- {id: remind, type: generateEvent, delay: PT10S, event: {type: told, source: /t, data: 'jq({who: "A", n: 1})'}, transition: again}
- {id: again, type: generateEvent, delay: PT10S, event: {type: told, source: /t, data: 'jq({who: "A", n: 2})'}, transition: now}
- {id: now, type: generateEvent, event: {type: told, source: /t, data: 'jq({who: "A", n: 3})'}}
)");
  const Json started = world.start("reminds");
  EXPECT_EQ(world.instance(started["id"])["status"], "complete")
      << "the instance does not wait for the delay";
  EXPECT_EQ(published(world), "A3");
  world.restart();
  world.run_for(Duration(9'999));
  EXPECT_EQ(published(world), "A3");

  // Delayed events that are due at the same time are also published in their order.
  bool lost = false;
  world.broker.decide_fates(
      [&](const NatsMessage&) { return PublishFate{.arrives = std::exchange(lost, true)}; });
  world.run_for(minutes(1));
  EXPECT_EQ(published(world), "A3 A1 A2");
  EXPECT_THAT(world.events("told"), SizeIs(3));
}

TEST(GeneratedEvents, StartAndWakeOtherInstances) {
  World world;
  world.apply(R"(
id: asks
states:
- {id: ask, type: generateEvent, event: {type: question, source: /asks, data: 'jq({n: .n})'}, transition: wait}
- {id: wait, type: consumeEvent, event: {type: answer}}
)");
  world.apply(R"(
id: answers
start: {type: event, event: {type: question}}
states:
- {id: answer, type: generateEvent, event: {type: answer, source: /answers, data: 'jq(.question)'}}
)");
  const Json started = world.start("asks", {{"n", 7}});
  EXPECT_EQ(world.instance(started["id"])["output"], (Json{{"n", 7}, {"answer", {{"n", 7}}}}));
}

/// The fast lane cannot run the program `slow`, so a jq worker evaluates it.
constexpr const char* kEvaluates = R"(
id: evaluates
states:
- {id: think, type: noop, transform: 'jq(slow)', transition: wait}
- {id: wait, type: consumeEvent, event: {type: go}}
)";

struct EvaluatingWorld : World {
  EvaluatingWorld() {
    evaluator.define("slow", [](const Json& input) -> QueryResult {
      return Json{{"thought", input}};
    });
    apply(kEvaluates);
  }
};

TEST(Evaluations, ResumeTheirInstance) {
  EvaluatingWorld world;
  const Json started = world.start("evaluates", {{"n", 1}});
  EXPECT_EQ(world.instance(started["id"])["status"], "waiting");
  EXPECT_EQ(world.instance(started["id"])["data"], (Json{{"thought", {{"n", 1}}}}));
  EXPECT_EQ(world.evaluator.asked(), 1U);
}

TEST(Evaluations, BlockNoOtherInstance) {
  EvaluatingWorld world;
  world.evaluator.hold();
  const Json first = world.start("evaluates", {{"n", 1}});
  const Json second = world.start("evaluates", {{"n", 2}});
  EXPECT_EQ(world.evaluator.waiting(), 2U);
  world.evaluator.answer(1);
  world.run_until_idle();
  EXPECT_EQ(world.instance(first["id"])["status"], "running");
  EXPECT_EQ(world.instance(second["id"])["status"], "waiting");
  world.evaluator.release();
  world.run_until_idle();
  EXPECT_EQ(world.instance(first["id"])["status"], "waiting");
}

TEST(Evaluations, AreRequestedAgainAfterARestart) {
  EvaluatingWorld world;
  world.evaluator.hold();
  const Json started = world.start("evaluates", {{"n", 1}});
  world.restart();
  world.run_until_idle();
  EXPECT_EQ(world.evaluator.waiting(), 1U);
  world.evaluator.answer();  // the process dies before the commit of the result
  world.restart();
  world.evaluator.release();
  world.run_until_idle();
  EXPECT_EQ(world.instance(started["id"])["data"], (Json{{"thought", {{"n", 1}}}}));
  EXPECT_EQ(world.evaluator.asked(), 3U);
}

TEST(Evaluations, AreIgnoredByACancelledInstance) {
  EvaluatingWorld world;
  world.evaluator.hold();
  const Json started = world.start("evaluates");
  world.must(DeleteWorkflow{.ns = "default", .id = "evaluates", .cancel = true});
  world.evaluator.release();
  world.run_until_idle();
  EXPECT_EQ(world.instance(started["id"])["status"], "cancelled");
  EXPECT_THAT(world.history(started["id"]),
              ElementsAre("started", "entered think", "cancelled think", "ended think"));
}

}  // namespace
}  // namespace millrace
