// Singular workflows, which have at most one live instance, through the whole engine.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::SizeIs;

std::string one(const std::string& start, const std::string& singular = "true") {
  return fmt::format(
      "id: one\nsingular: {}\nstart: {}\nstates:\n"
      "- {{id: wait, type: consumeEvent, event: {{type: go}}}}\n",
      singular, start);
}

constexpr const char* kByCall = "{type: default}";
constexpr const char* kByEvent = "{type: event, event: {type: begin}}";

class Singular : public testing::Test {
 protected:
  std::string call(const std::string& key = "") {
    const Answered answered = world.command(StartInstance{
        .ns = "default", .workflow = "one", .input = Json::object(), .idempotency_key = key});
    world.run_until_idle();
    return **answered ? (**answered)->at("id").get<std::string>() : (**answered).error().code;
  }
  void go() {
    world.publish("go", fmt::format("go-{}", ++gone_));
    world.run_until_idle();
  }
  double skipped() { return world.metric("millrace_starts_skipped_total"); }

  World world;
  int gone_ = 0;
};

TEST_F(Singular, RefusesACallWhileAnInstanceIsLive) {
  world.apply(one(kByCall));
  EXPECT_THAT(call(), SizeIs(36));
  EXPECT_EQ(call(), "direktiv.mutex");
  go();
  EXPECT_THAT(call(), SizeIs(36));
  EXPECT_THAT(world.instances(), SizeIs(2)) << "a refused start leaves no instance";
  EXPECT_EQ(skipped(), 0) << "a refused call is not a skipped start";
}

TEST_F(Singular, ReturnsTheInstanceOfAnIdempotencyKey) {
  world.apply(one(kByCall));
  const std::string id = call("k");
  EXPECT_EQ(call("k"), id);
  EXPECT_EQ(call("other"), "direktiv.mutex");
  go();
  EXPECT_EQ(call("k"), id) << "the key returns an ended instance";
  EXPECT_NE(call("other"), id) << "a refusal is not stored under the key";
}

TEST_F(Singular, AllowsACallAfterACancel) {
  world.apply(one(kByCall));
  const InstanceId id = parse_instance_id(call()).value();
  world.must(CancelInstance{"default", id});
  EXPECT_THAT(call(), SizeIs(36));
}

TEST_F(Singular, SkipsEventsWhileAnInstanceIsLive) {
  world.apply(one(kByEvent));
  for (const char* id : {"1", "2", "3"}) world.publish("begin", id);
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(1));
  EXPECT_EQ(skipped(), 2);
  go();
  EXPECT_THAT(world.instances(), SizeIs(1)) << "skipped events do not wait";
  world.publish("begin", "4");
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(2));
}

TEST_F(Singular, DropsADuplicateOfASkippedEvent) {
  world.apply(one(kByEvent));
  world.publish("begin", "1");
  world.publish("begin", "2");
  world.run_until_idle();
  go();
  // After this time the broker stores the duplicate, but the engine drops it.
  world.clock.advance(minutes(3));
  world.publish("begin", "2");
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(1));
}

TEST_F(Singular, UsesUpTheEventsOfASkippedGroup) {
  world.apply(one("{type: eventsAnd, correlate: [order], events: [{type: a}, {type: b}]}"));
  const auto pair = [&](const std::string& order) {
    world.publish("a", "a" + order, nullptr, {{"order", order}});
    world.publish("b", "b" + order, nullptr, {{"order", order}});
    world.run_until_idle();
  };
  pair("1");
  pair("2");
  EXPECT_THAT(world.instances(), SizeIs(1));
  EXPECT_EQ(skipped(), 1);
  go();
  EXPECT_THAT(world.instances(), SizeIs(1));
  for (const auto& [key, value] : world.rows()) EXPECT_FALSE(key.starts_with("groups/"));
  pair("3");
  EXPECT_THAT(world.instances(), SizeIs(2));
}

TEST_F(Singular, SkipsTicksWhileAnInstanceIsLive) {
  world.apply(one("{type: scheduled, cron: '@hourly'}"));
  world.run_for(hours(3));
  EXPECT_THAT(world.instances(), SizeIs(1));
  EXPECT_EQ(skipped(), 2);
  const Answered triggered = world.command(TriggerSchedule{"default", "one"});
  world.run_until_idle();
  EXPECT_EQ((**triggered).error().code, "direktiv.mutex");
  go();
  world.run_for(hours(1));
  EXPECT_THAT(world.instances(), SizeIs(2));
}

TEST_F(Singular, AppliesAfterARestart) {
  world.apply(one(kByCall));
  call();
  world.restart();
  world.run_until_idle();
  EXPECT_EQ(call(), "direktiv.mutex");
  go();
  world.restart();
  world.run_until_idle();
  EXPECT_THAT(call(), SizeIs(36));
  world.must(DeleteWorkflow{.ns = "default", .id = "one", .cancel = true});
  world.apply(one(kByCall));
  EXPECT_THAT(call(), SizeIs(36));
}

TEST_F(Singular, CountsInstancesOfOlderRevisions) {
  world.apply(one(kByCall, "false"));
  call();
  EXPECT_THAT(call(), SizeIs(36));
  world.apply(one(kByCall));
  EXPECT_EQ(call(), "direktiv.mutex");
  go();
  EXPECT_THAT(call(), SizeIs(36)) << "both instances have ended";
}

TEST_F(Singular, CountsOnlyItsOwnInstances) {
  world.apply(one(kByCall));
  world.apply(
      "id: two\nsingular: true\nstates:\n"
      "- {id: wait, type: consumeEvent, event: {type: go}}\n");
  call();
  world.start("two");
  EXPECT_EQ(call(), "direktiv.mutex");
}

}  // namespace
}  // namespace millrace
