// A full store, and a store that has space again after it was full.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/answer_code.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::Each;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kWaits = R"(
id: waits
start: {type: event, event: {type: begin}}
states:
- id: wait
  type: consumeEvent
  timeout: PT1H
  event: {type: go}
)";

constexpr const char* kPublishesWhenFull = R"(
id: tells
states:
- {id: tell, type: generateEvent, event: {type: told, source: /t}}
)";

constexpr const char* kPublishesTwice = R"(
id: tells-twice
states:
- {id: one, type: generateEvent, event: {type: told, source: /t}, transition: two}
- {id: two, type: generateEvent, event: {type: told, source: /t}}
)";

constexpr const char* kDelays = R"(
id: delays
states:
- {id: wait, type: delay, duration: PT1H}
)";

class StoreFull : public testing::Test {
 protected:
  /// Makes the store full: restarts the process with a soft limit below the size of the store.
  void fill() {
    world.run_until_idle();
    reopen(world.stored_bytes() - 1);
  }
  void reopen(uint64_t limit) {
    world.crash();
    world.options().store.soft_limit_bytes = limit;
    world.recover();
    world.run_until_idle();
  }
  void make_room() { reopen(std::numeric_limits<uint64_t>::max()); }

  World world;
};

TEST_F(StoreFull, RefusesCommandsAndWritesNothing) {
  world.apply(kWaits);
  fill();
  const auto before = world.rows();
  const Answered answers[] = {
      world.command(CreateNamespace{.name = "a"}),
      world.command(World::application(kPublishesWhenFull)),
      world.command(StartInstance{.ns = "default", .workflow = "waits"}),
  };
  world.run_for(seconds(2));
  for (const Answered& answered : answers) EXPECT_EQ(answer_code(answered), "store.full");
  EXPECT_EQ(world.rows(), before);

  make_room();
  EXPECT_EQ(world.start("waits")["created"], true);
  EXPECT_EQ(world.apply(kPublishesWhenFull)["revision"], 1) << "the refused command left nothing";
  EXPECT_EQ(world.must(CreateNamespace{.name = "a"})["created"], true);
}

TEST_F(StoreFull, LosesNoEventAndAppliesNoneTwice) {
  world.apply(kWaits);
  world.publish("begin", "1", 1);
  fill();
  for (int i = 2; i < 6; ++i) world.publish("begin", std::to_string(i), i);
  world.publish("go", "go", "x");
  world.publish("begin", "6", 6);
  world.run_for(seconds(10));
  EXPECT_THAT(world.instances(), SizeIs(1));
  EXPECT_EQ(world.instances()[0]["status"], "waiting");

  make_room();
  world.run_for(seconds(1));
  const auto instances = world.instances();
  ASSERT_THAT(instances, SizeIs(6));
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(instances[i]["input"], (Json{{"begin", i + 1}}));
    EXPECT_EQ(instances[i]["status"], i < 5 ? "complete" : "waiting");
  }
  EXPECT_EQ(world.metric("millrace_listeners"), 2);
}

TEST_F(StoreFull, EndsByItselfWhenTheOutboxIsSent) {
  world.apply(kPublishesWhenFull);
  world.apply(kWaits);
  world.broker.disconnect();
  for (int i = 0; i < 8; ++i) world.start("tells", {{"much", std::string(50'000, 'x')}});
  fill();
  world.run_for(seconds(2));
  EXPECT_EQ(answer_code(world.command(CreateNamespace{.name = "a"})), "store.full");
  world.publish("begin", "1", 1);
  world.broker.reconnect();
  world.run_for(seconds(10));
  EXPECT_THAT(world.events("told"), SizeIs(8));
  EXPECT_THAT(world.instances(), SizeIs(9)) << "the waiting event has started its instance";
  EXPECT_EQ(world.must(CreateNamespace{.name = "a"})["created"], true);
}

TEST_F(StoreFull, SendsTheOutboxWhileEachBatchIsLost) {
  world.apply(kDelays);
  world.apply(kPublishesTwice);
  const Json delayed = world.start("delays");
  world.broker.disconnect();
  for (int i = 0; i < 8; ++i) world.start("tells-twice", {{"much", std::string(50'000, 'x')}});
  fill();
  // The end of the delay is tried again and again, and the store has no space for it.
  world.run_for(hours(2));
  world.broker.reconnect();
  world.run_for(seconds(30));
  EXPECT_THAT(world.events("told"), SizeIs(16));
  EXPECT_EQ(world.instance(delayed["id"])["status"], "complete");
}

TEST_F(StoreFull, AllowsDeletionsAndCancels) {
  world.apply(kWaits);
  const Json started = world.start("waits");
  fill();
  const Answered refused = world.command(DeleteWorkflow{.ns = "default", .id = "waits"});
  const Answered also_refused = world.command(StartInstance{.ns = "default", .workflow = "waits"});
  world.run_for(seconds(1));
  EXPECT_EQ(answer_code(refused), "workflow.has_instances") << "the reason of the deletion itself";
  EXPECT_EQ(answer_code(also_refused), "store.full");

  const Answered deleted =
      world.command(DeleteWorkflow{.ns = "default", .id = "waits", .cancel = true});
  const Answered waiting = world.wait_for_end(started["id"], hours(1));
  world.run_for(seconds(1));
  EXPECT_EQ(answer_code(deleted), "ok");
  ASSERT_EQ(answer_code(waiting), "ok");
  EXPECT_EQ((***waiting)["status"], "cancelled");
  EXPECT_EQ(world.instance(started["id"])["status"], "cancelled");
}

TEST_F(StoreFull, AnswersCallsThatWaitForTheEndOfAnInstance) {
  world.apply(kWaits);
  world.apply(kPublishesWhenFull);
  const Json waits = world.start("waits");
  const Json publisher = world.start("tells");
  fill();
  world.publish("begin", "1", 1);  // this event cannot be committed, and waits before the commands
  const Answered timeout = world.wait_for_end(waits["id"], seconds(5));
  const Answered ended = world.wait_for_end(publisher["id"], seconds(5));
  world.run_for(seconds(4));
  EXPECT_EQ(answer_code(ended), "ok");
  EXPECT_EQ(answer_code(timeout), "not answered");
  world.run_for(seconds(2));
  EXPECT_EQ(answer_code(timeout), "wait.timeout");
}

TEST_F(StoreFull, FiresTimersWhenThereIsRoomAgain) {
  world.apply(kWaits);
  const Json started = world.start("waits");
  fill();
  world.run_for(hours(2));
  EXPECT_EQ(world.instance(started["id"])["status"], "waiting");
  make_room();
  world.run_for(seconds(1));
  EXPECT_EQ(world.instance(started["id"])["error"]["code"], "direktiv.stateTimeout");
}

}  // namespace
}  // namespace millrace
