// Trimmed histories: the oldest records of an instance with a long history are erased while it
// runs, also over restarts. The store check at the end of each process compares the heads with the
// rows that are left.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/deleted_namespace.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Gt;
using testing::HasSubstr;
using testing::Le;

constexpr const char* kRounds = R"(
id: rounds
states:
- {id: first, type: consumeEvent, event: {type: begin}, transition: wait}
- {id: wait, type: consumeEvent, event: {type: go}, transition: wait}
)";

class TrimmedHistory : public testing::Test {
 protected:
  explicit TrimmedHistory(const char* limits = R"({"records": 100})") {
    world.must(CreateNamespace{
        .name = "default",
        .settings = Json{{"lifecycle", true}, {"retention", {{"history", Json::parse(limits)}}}}});
    world.apply(kRounds);
    empty = keys(world);
    id = world.start("rounds")["id"];
    world.publish("begin", "begin");
    world.run_until_idle();
  }
  void go() { world.publish("go", std::to_string(++last_event)); }
  void go(int times) {
    for (int i = 0; i < times; ++i) {
      go();
      world.run_until_idle();
    }
  }
  uint64_t trimmed() { return world.instance(id).value("historyTrimmed", uint64_t{0}); }
  InstanceId instance() const { return *parse_instance_id(id); }

  World world;
  std::vector<std::string> empty;
  std::string id;
  int last_event = 0;
};

TEST_F(TrimmedHistory, HasTheNewestRecordsUnderTheirNumbers) {
  go(60);
  EXPECT_FALSE(world.instance(id).contains("historyTrimmed"));
  const Json before = world.history_items(id);
  EXPECT_EQ(before.front()["number"], 1);
  EXPECT_EQ(before.front()["kind"], "started");
  go(300);
  ASSERT_GT(trimmed(), 0U);
  const Json items = world.history_items(id);
  EXPECT_THAT(items.size(), AllOf(Ge(100U), Le(203U)));
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(items[i]["number"], trimmed() + i + 1);
  }
  EXPECT_EQ(items.back()["kind"], "entered");
  EXPECT_EQ(world.metric("millrace_retention_trimmed_history_records_total{namespace=\"default\"}"),
            static_cast<double>(trimmed()));
  EXPECT_FALSE(is_purging(world));
  EXPECT_THAT(world.rows_of("history"), Le(items.size())) << "the older rows are erased";
}

TEST_F(TrimmedHistory, IsTrimmedInStepsThatARestartMayInterrupt) {
  int restarts = 0;
  for (int i = 0; i < 350; ++i) {
    go();
    for (int steps = 0; steps < 20 && world.step(); ++steps) {
      if (!is_purging(world)) continue;
      world.restart();
      ++restarts;
    }
    world.run_until_idle();
  }
  EXPECT_GE(restarts, 2);
  EXPECT_FALSE(is_purging(world));
  EXPECT_EQ(world.metric("millrace_damaged_rows"), 0);
  EXPECT_THAT(world.rows_of("history"), Le(world.history_items(id).size()));
  EXPECT_EQ(world.status(id), "waiting");
}

TEST_F(TrimmedHistory, DoesNotChangeTheInstance) {
  go(300);
  ASSERT_GT(trimmed(), 0U);
  const Json before = world.instance(id);
  world.restart();
  world.run_until_idle();
  EXPECT_EQ(world.instance(id), before);
  go(1);
  EXPECT_EQ(world.status(id), "waiting");
  world.must(CancelInstance{.ns = "default", .instance = instance()});
  EXPECT_EQ(world.status(id), "cancelled");
  EXPECT_EQ(world.history_items(id).back()["kind"], "ended");
}

TEST_F(TrimmedHistory, HasNoDataForARerunFromAStateWhoseRecordsWereErased) {
  go(300);
  world.must(CancelInstance{.ns = "default", .instance = instance()});
  const Error error =
      world.refusal(RerunInstance{.ns = "default", .instance = instance(), .state = "first"});
  EXPECT_EQ(error.code, "instance.no_data");
  EXPECT_THAT(error.message, AllOf(HasSubstr("\"first\""), HasSubstr("records were erased"),
                                   HasSubstr("retention.history")));
  EXPECT_EQ(
      world.must(RerunInstance{.ns = "default", .instance = instance(), .state = "wait"})["run"],
      2);
}

TEST_F(TrimmedHistory, IsErasedWithItsInstance) {
  go(300);
  world.must(CancelInstance{.ns = "default", .instance = instance()});
  world.must(DeleteInstance{.ns = "default", .instance = instance()});
  EXPECT_EQ(keys(world), empty);
}

/// Instances that were written before their namespace had a limit, or that a write leaves too long.
class LateLimit : public testing::Test {
 protected:
  static Command limit() {
    return CreateNamespace{
        .name = "default",
        .settings = Json::parse(R"({"retention": {"history": {"records": 100}}})")};
  }
  size_t kept(const std::string& id) { return world.history_items(id).size(); }

  World world;
};

TEST_F(LateLimit, TrimsInstancesThatWaitOrHaveEndedInStepsThatARestartMayInterrupt) {
  world.apply(kRounds);
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(world.start("rounds")["id"]);
    world.run_until_idle();
  }
  world.publish("begin", "begin");
  for (int i = 0; i < 150; ++i) {
    world.publish("go", std::to_string(i));
    world.run_until_idle();
  }
  world.must(CancelInstance{.ns = "default", .instance = *parse_instance_id(ids[1])});
  world.must(CancelInstance{.ns = "default", .instance = *parse_instance_id(ids[3])});
  for (const std::string& id : ids) ASSERT_GT(kept(id), 300U);
  std::vector<Json> newest;
  for (const std::string& id : ids) newest.push_back(world.history_items(id).back());
  world.command(limit());
  for (int steps = 0; steps < 6; ++steps) {
    world.step();
    world.restart();
  }
  world.run_for(std::chrono::minutes(2));
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_THAT(kept(ids[i]), AllOf(Ge(100U), Le(102U)));
    EXPECT_EQ(world.history_items(ids[i]).back(), newest[i]);
    EXPECT_GT(world.instance(ids[i]).value("historyTrimmed", 0), 200);
    EXPECT_EQ(world.status(ids[i]), i % 2 == 0 ? "waiting" : "cancelled");
  }
  EXPECT_FALSE(is_purging(world));
  EXPECT_EQ(world.metric("millrace_damaged_rows"), 0);
  world.publish("go", "last");
  world.run_until_idle();
  EXPECT_EQ(world.history_items(ids[0]).back()["kind"], "entered");
}

TEST_F(LateLimit, TrimsWhatABusyBatchLeftAlsoInAnInstanceThatHasEnded) {
  // The data of the instance is that with which it entered `send`, so that the store has the data
  // in that record only.
  std::string chain = R"(
id: chain
states:
- {id: first, type: noop, transform: {x: 1}, transition: send}
- {id: send, type: generateEvent, event: {type: sent, source: chain}, transition: s0}
)";
  for (int i = 0; i < 300; ++i) {
    chain += fmt::format("- {{id: s{}, type: noop, transition: s{}}}\n", i, i + 1);
  }
  world.apply(chain + "- {id: s300, type: consumeEvent, event: {type: never}}\n");
  world.must(limit());
  const std::string waits = world.start("chain")["id"];
  world.apply(chain + "- {id: s300, type: noop}\n");
  const std::string ended = world.start("chain")["id"];
  world.run_until_idle();
  ASSERT_EQ(world.status(waits), "waiting");
  ASSERT_EQ(world.status(ended), "complete");
  ASSERT_GT(kept(waits), 300U) << "a write does not trim within a row";
  ASSERT_GT(kept(ended), 300U);
  const Json before = world.instance(ended);
  world.run_for(std::chrono::minutes(2));
  EXPECT_EQ(kept(waits), 100U);
  EXPECT_EQ(kept(ended), 100U);
  EXPECT_EQ(world.history_items(ended).back()["kind"], "ended");
  world.restart();
  EXPECT_EQ(world.instance(ended)["output"], (Json{{"x", 1}}));
  EXPECT_EQ(world.instance(ended)["output"], before["output"]);
  EXPECT_EQ(world.instance(ended).value("historyTrimmed", 0) + 1,
            world.history_items(ended)[0]["number"]);
}

class HistoryOfFewBytes : public TrimmedHistory {
 protected:
  HistoryOfFewBytes() : TrimmedHistory(R"({"bytes": "64KiB"})") {}
};

TEST_F(HistoryOfFewBytes, KeepsTheNewestRecordsOfThatSize) {
  const std::string large(4'000, 'x');
  for (int i = 0; i < 60; ++i) {
    world.publish("go", std::to_string(i), Json(large));
    world.run_until_idle();
  }
  EXPECT_THAT(trimmed(), Gt(0U));
  EXPECT_THAT(world.history_items(id).size(), Ge(2U));
}

}  // namespace
}  // namespace millrace
