// What goes out: generated events, their order and their ids, and the evaluations that workers do.
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

/// Tells three times of what it was given.
constexpr const char* kTellsThrice = R"(
id: thrice
states:
- {id: a, type: generateEvent, event: {type: told, source: /t, data: 'jq({who: .who, n: 1})'}, transition: b}
- {id: b, type: generateEvent, event: {type: told, source: /t, data: 'jq({who: .who, n: 2})'}, transition: c}
- {id: c, type: generateEvent, event: {type: told, source: /t, data: 'jq({who: .who, n: 3})'}}
)";

/// What was told, in the order of the stream: `A1 A2`; what came again counts once.
std::string told(const World& world, const std::string& who = "") {
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

TEST(GeneratedEvents, GoOutOnceTheyAreOnDiskUnderOneId) {
  World world;
  world.apply(kTellsThrice);
  const Answered answered = world.command(
      StartInstance{.space = "default", .workflow = "thrice", .input = {{"who", "A"}}});
  world.crash_after_commit();
  EXPECT_THAT(world.broker.events(), IsEmpty());
  world.recover();
  world.settle();
  EXPECT_EQ(told(world), "A1 A2 A3");
  const std::string instance = world.instances().at(0)["id"];
  EXPECT_EQ(world.events("told")[0].id.rfind(instance, 0), 0U);

  // And not again.
  world.restart();
  world.run_for(minutes(5));
  EXPECT_THAT(world.events("told"), SizeIs(3));
}

TEST(GeneratedEvents, AreSentAgainUnderTheirIdUntilTheBrokerHasThem) {
  World world;
  world.apply(kTellsThrice);
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
  EXPECT_EQ(told(world), "A1 A2 A3");
  EXPECT_EQ(world.events("told").size(), 3U) << "the broker knows the second sending by its id";
  EXPECT_EQ(world.metric("millrace_outbox_in_flight"), 0);
}

TEST(GeneratedEvents, KeepTheirOrderWithinAnInstanceWhicheverOfThemFails) {
  for (int failing = 0; failing < 6; ++failing) {
    for (const bool arrives : {false, true}) {
      World world;
      world.apply(kTellsThrice);
      int sent = 0;
      world.broker.decide_fates([&](const NatsMessage&) {
        PublishFate fate;
        if (sent++ == failing) {
          fate.arrives = arrives;
          fate.acked = false;
        }
        return fate;
      });
      world.command(
          StartInstance{.space = "default", .workflow = "thrice", .input = {{"who", "A"}}});
      world.command(
          StartInstance{.space = "default", .workflow = "thrice", .input = {{"who", "B"}}});
      world.run_for(minutes(1));
      EXPECT_EQ(told(world, "A"), "A1 A2 A3") << failing;
      EXPECT_EQ(told(world, "B"), "B1 B2 B3") << failing;
    }
  }
}

TEST(GeneratedEvents, KeepTheirOrderWhenOneOvertakesAnother) {
  World world;
  world.apply(kTellsThrice);
  int delay = 8;
  world.broker.decide_fates([&](const NatsMessage&) {
    return PublishFate{.delay = std::max(0, delay -= 3), .ack_delay = 2};
  });
  world.start("thrice", {{"who", "A"}});
  world.settle();
  EXPECT_EQ(told(world), "A1 A2 A3");
}

TEST(GeneratedEvents, OfOneInstanceDoNotWaitForThoseOfAnother) {
  World world;
  world.apply(kTellsThrice);
  world.broker.decide_fates([](const NatsMessage& message) {
    PublishFate fate;
    fate.arrives = message.data.find(R"("who":"A")") == std::string::npos;
    return fate;
  });
  for (const char* who : {"A", "B"}) {
    world.command(StartInstance{.space = "default", .workflow = "thrice", .input = {{"who", who}}});
  }
  world.settle();
  EXPECT_EQ(told(world), "B1 B2 B3");
  world.broker.decide_fates({});
  world.run_for(minutes(1));
  EXPECT_EQ(told(world), "B1 B2 B3 A1 A2 A3");
}

TEST(GeneratedEvents, OfADelayComeWhenItIsOver) {
  World world;
  world.apply(R"(
id: reminds
states:
- {id: remind, type: generateEvent, delay: PT10S, event: {type: told, source: /t, data: 'jq({who: "A", n: 1})'}, transition: again}
- {id: again, type: generateEvent, delay: PT10S, event: {type: told, source: /t, data: 'jq({who: "A", n: 2})'}, transition: now}
- {id: now, type: generateEvent, event: {type: told, source: /t, data: 'jq({who: "A", n: 3})'}}
)");
  const Json started = world.start("reminds");
  EXPECT_EQ(world.instance(started["id"])["status"], "complete") << "it waits for nothing";
  EXPECT_EQ(told(world), "A3");
  world.restart();
  world.run_for(Duration(9'999));
  EXPECT_EQ(told(world), "A3");

  // Those of one moment keep their order, too.
  bool lost = false;
  world.broker.decide_fates(
      [&](const NatsMessage&) { return PublishFate{.arrives = std::exchange(lost, true)}; });
  world.run_for(minutes(1));
  EXPECT_EQ(told(world), "A3 A1 A2");
  EXPECT_THAT(world.events("told"), SizeIs(3));
}

TEST(GeneratedEvents, StartAndWakeOthers) {
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

/// `slow` is for a worker, whatever it is; the fast lane does not take it.
constexpr const char* kEvaluates = R"(
id: evaluates
states:
- {id: think, type: noop, transform: 'jq(slow)', transition: wait}
- {id: wait, type: consumeEvent, event: {type: go}}
)";

struct Thinking : World {
  Thinking() {
    evaluator.define("slow", [](const Json& input) -> QueryResult {
      return Json{{"thought", input}};
    });
    apply(kEvaluates);
  }
};

TEST(Evaluations, LetTheInstanceGoOn) {
  Thinking world;
  const Json started = world.start("evaluates", {{"n", 1}});
  EXPECT_EQ(world.instance(started["id"])["status"], "waiting");
  EXPECT_EQ(world.instance(started["id"])["data"], (Json{{"thought", {{"n", 1}}}}));
  EXPECT_EQ(world.evaluator.asked(), 1U);
}

TEST(Evaluations, KeepNobodyElseWaiting) {
  Thinking world;
  world.evaluator.hold();
  const Json first = world.start("evaluates", {{"n", 1}});
  const Json second = world.start("evaluates", {{"n", 2}});
  EXPECT_EQ(world.evaluator.waiting(), 2U);
  world.evaluator.answer(1);
  world.settle();
  EXPECT_EQ(world.instance(first["id"])["status"], "running");
  EXPECT_EQ(world.instance(second["id"])["status"], "waiting");
  world.evaluator.release();
  world.settle();
  EXPECT_EQ(world.instance(first["id"])["status"], "waiting");
}

TEST(Evaluations, AreAskedForAgainAfterARestart) {
  Thinking world;
  world.evaluator.hold();
  const Json started = world.start("evaluates", {{"n", 1}});
  world.restart();
  world.settle();
  EXPECT_EQ(world.evaluator.waiting(), 1U);
  world.evaluator.answer();  // and it dies before the result is on disk
  world.restart();
  world.evaluator.release();
  world.settle();
  EXPECT_EQ(world.instance(started["id"])["data"], (Json{{"thought", {{"n", 1}}}}));
  EXPECT_EQ(world.evaluator.asked(), 3U);
}

TEST(Evaluations, AreNothingToAnInstanceThatWasCancelled) {
  Thinking world;
  world.evaluator.hold();
  const Json started = world.start("evaluates");
  world.must(DeleteWorkflow{.space = "default", .id = "evaluates", .cancel = true});
  world.evaluator.release();
  world.settle();
  EXPECT_EQ(world.instance(started["id"])["status"], "cancelled");
  EXPECT_THAT(world.history(started["id"]),
              ElementsAre("started", "entered think", "cancelled think", "ended think"));
}

}  // namespace
}  // namespace millrace
