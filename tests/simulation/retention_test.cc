// Retention: ended instances are deleted as the settings of their namespace require, also by an
// idle engine, in small steps, and over restarts. The store check at the end of each process
// compares the index, the counts and the sizes with the instances that are left.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/index_rows.h"
#include "tests/simulation/compensated_order.h"
#include "tests/simulation/deleted_namespace.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::Gt;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

constexpr const char* kErrs = R"(
id: errs
states:
- {id: stop, type: error, error: no.use, message: gone}
)";

constexpr const char* kDeletedByRetention =
    "millrace_instances_deleted_total{reason=\"retention\"}";

class RetentionWorld : public testing::Test {
 protected:
  RetentionWorld() {
    world.apply(job("job"));
    world.apply(kErrs);
    world.apply(kWaitsInDeleted);
  }

  void keep(const std::string& rules, const std::string& ns = "default") {
    world.must(CreateNamespace{.name = ns, .settings = Json{{"retention", Json::parse(rules)}}});
  }
  /// Starts instances, each with an idempotency key, while the clock stands still.
  void start(const std::string& workflow, int count) {
    for (int i = 0; i < count; ++i) {
      world.command(StartInstance{.ns = "default",
                                  .workflow = workflow,
                                  .input = {{"n", i}},
                                  .idempotency_key = std::to_string(++last_key)});
      if (i % 100 == 99) world.run_until_idle();
    }
    world.run_until_idle();
  }
  /// The ids of all instances of the default namespace, ascending.
  std::vector<std::string> ids() {
    std::vector<std::string> found;
    for (const Json& one : world.instances()) found.push_back(one["id"]);
    return found;
  }
  Usage usage() {
    return read_usage(*Snapshot::take(world.environment()), NamespaceNumber(1)).value();
  }
  bool is_busy() { return world.processor().next_wake() == Duration(0); }

  World world;
  int last_key = 0;
};

TEST_F(RetentionWorld, KeepsAnInstanceWithACompensationThatFailedForGood) {
  const std::string id = world.apply_order(compensated_steps(2));
  answer_newest_task(world, "a");
  fail_newest_task(world);
  fail_newest_task(world);
  ASSERT_EQ(world.instance(id)["compensation"]["left"], 1);
  keep(R"({"failed": {"age": "1h", "count": 1, "bytes": 1}})");
  start("errs", 2);
  world.run_for(hours(3));
  EXPECT_THAT(ids(), ElementsAre(id)) << "the others are deleted";
  world.must(
      CompensateInstance{.ns = "default", .instance = parse_instance_id(id).value(), .past = true});
  world.run_for(hours(3));
  EXPECT_THAT(ids(), IsEmpty());
}

TEST_F(RetentionWorld, KeepsAnInstanceWhoseCompensationsACancelHasStopped) {
  const std::string id = world.apply_order(compensated_steps(2));
  answer_newest_task(world, "a");
  fail_newest_task(world);
  world.must(CancelInstance{.ns = "default", .instance = parse_instance_id(id).value()});
  ASSERT_EQ(world.status(id), "failed");
  keep(R"({"failed": {"age": "1h"}})");
  world.run_for(hours(3));
  EXPECT_THAT(ids(), ElementsAre(id));
}

TEST_F(RetentionWorld, DeletesInstancesOfAnIdleEngineByTheirAge) {
  const auto before = keys(world);
  start("waits", 1);
  const auto with_live = keys(world);
  keep(R"({"ended": {"age": "1h"}})");
  start("job", 2);
  start("errs", 1);
  world.run_for(minutes(59));
  EXPECT_THAT(ids(), SizeIs(4));
  world.run_for(minutes(2));
  EXPECT_EQ(keys(world), with_live) << "the live instance stays";
  EXPECT_EQ(world.metric(kDeletedByRetention), 3);
  world.must(CancelInstance{.ns = "default", .instance = *parse_instance_id(ids().at(0))});
  world.run_for(minutes(62));
  EXPECT_EQ(keys(world), before);
}

TEST_F(RetentionWorld, DeletesNothingWithoutRules) {
  start("job", 3);
  const auto before = keys(world);
  world.run_for(hours(24 * 400));
  EXPECT_EQ(keys(world), before);
  EXPECT_FALSE(world.processor().next_wake()) << "an engine without rules has nothing to wait for";
}

TEST_F(RetentionWorld, DeletesInStepsThatLetOtherCommandsThrough) {
  keep(R"({"ended": {"count": 10}})");
  start("job", 600);
  EXPECT_EQ(world.metric(kDeletedByRetention), 0) << "no pass begins while the clock stands still";
  world.clock.advance(minutes(1));
  int steps = 0;
  for (double before = 0; world.metric(kDeletedByRetention) < 590 && steps < 20; ++steps) {
    const Answered other = world.command(StartInstance{.ns = "default", .workflow = "waits"});
    world.step();
    ASSERT_TRUE(other->has_value()) << "the command waits for one step at most";
    EXPECT_THAT(world.metric(kDeletedByRetention) - before, Le(300));
    before = world.metric(kDeletedByRetention);
  }
  EXPECT_THAT(steps, AllOf(Gt(1), Le(8)));
  world.run_until_idle();
  EXPECT_EQ(usage().ended, 10U);
}

TEST_F(RetentionWorld, ContinuesAfterARestartAndDeletesNothingElse) {
  keep(R"({"ended": {"count": 10}})");
  start("waits", 1);
  start("errs", 5);
  for (int turns = 0;; ++turns) {
    start("job", 500);
    std::vector<std::string> jobs;
    for (const Json& one : world.instances()) {
      if (one["workflow"] == "job") jobs.push_back(one["id"]);
    }
    ASSERT_THAT(jobs.size(), Ge(500U));
    world.clock.advance(minutes(1));
    for (int i = 0; i < turns; ++i) world.step();
    const bool is_done = turns > 0 && !is_busy();
    world.restart();
    world.run_until_idle();
    std::vector<std::string> left = ids();
    EXPECT_THAT(left, SizeIs(16)) << turns;
    EXPECT_TRUE(std::includes(left.begin(), left.end(), jobs.end() - 10, jobs.end())) << turns;
    EXPECT_EQ(usage().live, 1U);
    EXPECT_EQ(usage().ended, 15U);
    if (is_done) break;
    ASSERT_LT(turns, 20);
  }
}

TEST_F(RetentionWorld, BoundsTheBytesOfTheNamespaceAndDeletesTheOldestFirst) {
  start("waits", 1);
  start("job", 20);
  start("errs", 20);
  const auto all = ids();
  const Usage before = usage();
  const uint64_t bound = (before.row_bytes + before.history_bytes) / 2;
  keep(fmt::format(R"({{"ended": {{"bytes": {}}}}})", bound));
  world.run_for(minutes(2));
  EXPECT_THAT(usage().row_bytes + usage().history_bytes, Le(bound));
  const auto left = ids();
  EXPECT_THAT(left.size(), AllOf(Gt(2U), Le(all.size() - 10)));
  EXPECT_EQ(left.front(), all.front()) << "the live instance stays";
  EXPECT_TRUE(std::equal(left.begin() + 1, left.end(),
                         all.end() - static_cast<ptrdiff_t>(left.size()) + 1));
}

TEST_F(RetentionWorld, AppliesTheRulesOfEachNamespaceToItself) {
  world.must(CreateNamespace{.name = "shop"});
  world.apply(job("job"), "shop");
  world.must(StartInstance{.ns = "shop", .workflow = "job"});
  start("job", 2);
  keep(R"({"ended": {"age": "1m"}})", "shop");
  world.run_for(minutes(3));
  EXPECT_THAT(ids(), SizeIs(2));
  EXPECT_EQ(world.metric(kDeletedByRetention), 1);
  world.must(DeleteNamespace{.name = "shop"});
  world.run_for(minutes(3));
  EXPECT_THAT(ids(), SizeIs(2));
}

TEST_F(RetentionWorld, KeepsEveryInstanceWhileTheSettingsAreUnreadable) {
  keep(R"({"ended": {"age": "1m"}})");
  start("job", 2);
  world.crash();
  world.change_store([](Transaction& tx) {
    auto record = read_namespace(tx, "default");
    ASSERT_TRUE(record && *record);
    (*record)->settings = R"({"retention": {"ended": {"age": "1m", "later": true}}})";
    write_namespace(tx, "default", **record);
  });
  world.checks_store = false;  // the check reports the settings
  world.recover();
  world.run_for(hours(2));
  EXPECT_THAT(ids(), SizeIs(2));
  keep(R"({"ended": {"age": "1m"}})");
  EXPECT_THAT(ids(), IsEmpty()) << "the first pass begins with the new settings";
}

TEST_F(RetentionWorld, ShowsItsPassesAndWhatItDeletedInTheMetrics) {
  const auto seconds_of = [&](const char* series) {
    return from_millis(static_cast<int64_t>(std::llround(world.metric(series) * 1'000)));
  };
  constexpr const char* kNextPass = "millrace_retention_next_pass_seconds{kind=\"instances\"}";
  constexpr const char* kLastPass = "millrace_retention_last_pass_end_seconds{kind=\"instances\"}";
  EXPECT_EQ(world.metric(kNextPass), 0) << "there are no rules";
  keep(R"({"ended": {"age": "1h"}})");
  const TimePoint first = world.clock.now();
  EXPECT_EQ(seconds_of(kLastPass), first);
  EXPECT_EQ(seconds_of(kNextPass), first + minutes(1));
  start("job", 2);
  const Usage before = usage();
  world.run_for(minutes(2));
  EXPECT_EQ(seconds_of("millrace_retention_next_deletion_seconds{namespace=\"default\"}"),
            first + hours(1));
  world.run_for(hours(1));
  EXPECT_EQ(world.metric("millrace_retention_deleted_instances_total{namespace=\"default\"}"), 2);
  EXPECT_EQ(world.metric("millrace_retention_deleted_bytes_total{namespace=\"default\"}"),
            static_cast<double>(before.row_bytes + before.history_bytes));
  EXPECT_GT(world.metric("millrace_retention_deleted_history_records_total{namespace=\"default\"}"),
            0);
  EXPECT_THAT(seconds_of(kLastPass), Gt(first + hours(1)));
  keep("{}");
  EXPECT_EQ(world.metric(kNextPass), 0);
}

TEST_F(RetentionWorld, LeavesTheIdempotencyKeysOfDeletedInstancesToNewOnes) {
  keep(R"({"ended": {"age": "1m"}})");
  const Json first = world.start("job", Json::object(), "key");
  EXPECT_EQ(world.start("job", Json::object(), "key")["id"], first["id"]);
  world.run_for(minutes(3));
  EXPECT_EQ(world.start("job", Json::object(), "key")["created"], true);
}

TEST_F(RetentionWorld, DeletesALongHistoryInSteps) {
  world.apply(R"(
id: loops
states:
- {id: wait, type: consumeEvent, event: {type: go}, transition: wait}
)");
  const auto before = keys(world);
  const std::string id = world.start("loops")["id"];
  for (int i = 0; i < 2'500; ++i) {
    world.publish("go", std::to_string(i));
    world.run_until_idle();
  }
  world.must(CancelInstance{.ns = "default", .instance = *parse_instance_id(id)});
  keep(R"({"ended": {"age": "1m"}})");
  world.clock.advance(minutes(1));
  world.step();
  EXPECT_TRUE(is_purging(world));
  world.restart();
  world.run_until_idle();
  EXPECT_EQ(keys(world), before);
}

}  // namespace
}  // namespace millrace
