// Ended instances that a filter selects: they are deleted in several batches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/deleted_namespace.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using testing::Gt;
using testing::SizeIs;

constexpr const char* kStops = R"(
id: stops
states:
- {id: stop, type: error, error: no.use, message: gone}
)";

constexpr const char* kDeleted = "millrace_instances_deleted_total{reason=\"request\"}";

class DeletedInstances : public testing::Test {
 protected:
  DeletedInstances() {
    world.apply(job("job"));
    world.apply(kStops);
    world.apply(kWaitsInDeleted);
  }

  /// Starts instances of the workflow, each with an idempotency key.
  void start(const std::string& workflow, int count) {
    for (int i = 0; i < count; ++i) {
      world.command(StartInstance{.ns = "default",
                                  .workflow = workflow,
                                  .input = {{"n", i}},
                                  .idempotency_key = fmt::format("{}-{}", workflow, ++last_key)});
      if (i % 100 == 99) world.run_until_idle();
    }
    world.run_until_idle();
  }
  static DeleteInstances of(InstanceStatus status, std::string workflow = "") {
    return {.ns = "default", .workflow = std::move(workflow), .statuses = {status}};
  }

  World world;
  int last_key = 0;
};

TEST_F(DeletedInstances, LeaveNoRowsAndNoOtherInstanceIsDeleted) {
  start("stops", 2);
  start("waits", 1);
  const auto before = keys(world);
  start("job", 3);
  EXPECT_EQ(world.must(of(InstanceStatus::kComplete)), (Json{{"deleting", true}}));
  EXPECT_EQ(keys(world), before);
  EXPECT_EQ(world.metric(kDeleted), 3);
  EXPECT_EQ(world.must(of(InstanceStatus::kFailed, "job")), (Json{{"deleting", false}}));
  EXPECT_EQ(keys(world), before) << "the instances of another workflow have that status";
}

TEST_F(DeletedInstances, LeaveTheirIdempotencyKeysToNewInstances) {
  const std::string id = world.start("job", Json::object(), "key")["id"];
  world.must(PutVariable{.place = {.ns = "default", .instance = parse_instance_id(id).value()},
                         .key = "k",
                         .value = {}});
  world.must(of(InstanceStatus::kComplete, "job"));
  const Json again = world.start("job", {{"other", 1}}, "key");
  EXPECT_EQ(again["created"], true);
  EXPECT_NE(again["id"], id);
}

TEST_F(DeletedInstances, EndedBeforeTheGivenTime) {
  start("job", 2);
  world.run_for(hours(1));
  DeleteInstances old = of(InstanceStatus::kComplete);
  old.before = world.clock.now();
  start("job", 1);
  world.must(old);
  EXPECT_THAT(world.instances(), SizeIs(1));
}

TEST_F(DeletedInstances, AreDeletedInStepsThatLetOtherCommandsThrough) {
  start("job", 600);
  const Answered deleted = world.command(of(InstanceStatus::kComplete));
  world.step();
  ASSERT_TRUE(deleted->has_value()) << "the answer does not wait for the deletion";
  int turns = 0;
  for (double before = 0; is_purging(world); ++turns) {
    const Answered other = world.command(StartInstance{.ns = "default", .workflow = "waits"});
    world.step();
    ASSERT_TRUE(other->has_value()) << "the command waits for one step at most";
    EXPECT_LE(world.metric(kDeleted) - before, 300);
    before = world.metric(kDeleted);
  }
  EXPECT_THAT(turns, Gt(1));
  EXPECT_EQ(world.metric(kDeleted), 600);
}

TEST_F(DeletedInstances, AreDeletedToTheEndAfterARestart) {
  start("stops", 3);
  const auto before = keys(world);
  for (int turns = 0;; ++turns) {
    start("job", 500);
    const Answered deleted = world.command(of(InstanceStatus::kComplete));
    for (int i = 0; i < 20 && !deleted->has_value(); ++i) world.step();
    ASSERT_TRUE(deleted->has_value());
    for (int i = 0; i < turns; ++i) world.step();
    const bool done = !is_purging(world);
    world.restart();
    world.run_until_idle();
    EXPECT_EQ(keys(world), before) << turns;
    if (done) break;
  }
}

TEST_F(DeletedInstances, AreNotThoseThatEndOrRunAgainAfterTheRequest) {
  start("job", 400);
  const std::string again = world.instances().back()["id"];
  const Answered deleted = world.command(of(InstanceStatus::kComplete));
  world.step();
  ASSERT_TRUE(deleted->has_value());
  ASSERT_TRUE(is_purging(world));
  const Answered restarted =
      world.command(RestartInstance{.ns = "default", .instance = *parse_instance_id(again)});
  const Answered started = world.command(StartInstance{.ns = "default", .workflow = "job"});
  world.run_until_idle();
  ASSERT_TRUE(restarted->has_value() && (**restarted).has_value());
  ASSERT_TRUE(started->has_value() && (**started).has_value());
  EXPECT_THAT(world.instances(), SizeIs(2));
  EXPECT_EQ(world.status(again), "complete");
}

TEST_F(DeletedInstances, WithLongHistoriesAreDeletedToTheEnd) {
  world.apply(R"(
id: loops
states:
- {id: wait, type: consumeEvent, event: {type: go}, transition: wait}
)");
  const auto before = keys(world);
  std::vector<std::string> ids;
  for (int i = 0; i < 2; ++i) ids.push_back(world.start("loops")["id"]);
  for (int i = 0; i < 1'500; ++i) {
    world.publish("go", std::to_string(i));
    world.run_until_idle();
  }
  for (const std::string& id : ids) {
    world.must(CancelInstance{.ns = "default", .instance = *parse_instance_id(id)});
  }
  const Answered deleted = world.command(of(InstanceStatus::kCancelled));
  for (int i = 0; i < 3; ++i) world.step();
  EXPECT_TRUE(is_purging(world));
  world.restart();
  world.run_until_idle();
  EXPECT_EQ(keys(world), before);
}

TEST_F(DeletedInstances, OfADeletedNamespaceAreErasedWithIt) {
  const auto before = keys(world);
  world.must(CreateNamespace{.name = "a"});
  world.apply(job("job"), "a");
  for (int i = 0; i < 400; ++i) {
    world.command(StartInstance{.ns = "a", .workflow = "job"});
    if (i % 100 == 99) world.run_until_idle();
  }
  DeleteInstances all = of(InstanceStatus::kComplete);
  all.ns = "a";
  const Answered deleted = world.command(all);
  world.step();
  const Answered removed = world.command(DeleteNamespace{.name = "a"});
  world.step();
  ASSERT_TRUE(removed->has_value());
  world.restart();
  world.run_until_idle();
  EXPECT_EQ(keys(world), before);
}

}  // namespace
}  // namespace millrace
