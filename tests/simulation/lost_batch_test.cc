// A lost batch, which does not reach the disk, leaves no change in memory. To undo the batch,
// millrace reads only the instances that the batch had loaded.
#include <algorithm>
#include <chrono>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/simulation/world.h"
#include "tests/support/mixed_definitions.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Gt;
using testing::SizeIs;

/// Which commits fail.
struct Losses {
  uint64_t nth = 0;     ///< counted from 1; 0: no commit
  bool always = false;  ///< every commit
  uint64_t commits = 0;

  bool strikes() { return ++commits == nth || always; }
};

WorldOptions with(Losses& losses) {
  WorldOptions options;
  options.store.fails_commit = [&losses] { return losses.strikes(); };
  return options;
}

/// Repeats the command until it succeeds: the commands of a lost batch are refused.
void insist(World& world, const std::function<Command()>& make) {
  for (int i = 0; i < 3; ++i) {
    const Answered answered = world.command(make());
    world.run_for(seconds(1));
    if (answered->has_value() && **answered) return;
    ASSERT_TRUE(answered->has_value());
    ASSERT_EQ((**answered).error().code, "store.io") << (**answered).error().message;
  }
  FAIL() << "the command is refused again and again";
}

void apply_text(World& world, const std::string& text, const std::string& ns = "default") {
  insist(world, [&] { return World::application(text, ns); });
}

void start_in(World& world, const std::string& workflow, const std::string& ns = "default") {
  insist(world, [&] {
    return StartInstance{.ns = ns,
                         .workflow = workflow,
                         .input = {{"items", {1, 2, 3}}},
                         .idempotency_key = workflow};
  });
}

/// The counts of the caches in memory.
std::vector<double> levels(const World& world) {
  return {world.metric("millrace_listeners"), world.metric("millrace_timers"),
          world.metric("millrace_tasks")};
}

/// Runs work of every kind; returns the results of that work.
std::vector<std::string> live(World& world) {
  world.functions.act("charge", {{.heartbeat = seconds(1), .takes = seconds(20)}});
  for (const char* const text : {kWaits, kGroups, kTicks, kItem, kCallsItems, kOrder, kReminds}) {
    apply_text(world, text);
  }
  for (int i = 0; i < 3; ++i) world.publish("begin", fmt::format("begin-{}", i), i);
  world.publish("one", "one-1");
  world.publish("nothing", "nothing-1");
  world.run_for(seconds(1));
  for (const char* const workflow : {"calls", "order", "reminds"}) start_in(world, workflow);
  world.publish("item", "item-1");
  world.publish("two", "two-1");
  world.publish("one", "one-2");
  world.run_for(minutes(11));
  world.publish("go", "go-1");
  world.publish("begin", "begin-0", 0);  // a duplicate of the first event
  world.run_for(seconds(2));
  insist(world, [] { return CreateNamespace{.name = "a"}; });
  apply_text(world, kReminds, "a");
  start_in(world, "reminds", "a");
  insist(world, [] { return DeleteNamespace{.name = "a"}; });
  apply_text(world, std::string(kGroups) + "- {id: more, type: noop}\n");
  world.publish("begin", "begin-4", 4);
  world.run_for(minutes(50));
  const std::vector<double> before = levels(world);
  world.restart();
  world.run_for(seconds(1));
  EXPECT_EQ(levels(world), before) << "the caches differ from the store";
  world.run_for(hours(1));

  std::vector<std::string> lines;
  for (const Json& one : world.instances()) {
    lines.push_back(fmt::format("{} {} {}", one["workflow"].get<std::string>(),
                                one["status"].get<std::string>(),
                                fmt::join(world.history(one["id"]), ", ")));
  }
  std::sort(lines.begin(), lines.end());
  lines.push_back(fmt::format("{} reminders, {} tasks, {} listeners, {} timers",
                              world.events("reminder").size(), world.functions.tasks().size(),
                              world.metric("millrace_listeners"), world.metric("millrace_timers")));
  for (const std::string& reason : world.dead_letters()) lines.push_back(reason);
  return lines;
}

TEST(LostBatch, LeavesNothingInMemory) {
  Losses none;
  World untroubled(with(none));
  none.commits = 0;  // the commits that create the store do not count
  const std::vector<std::string> expected = live(untroubled);
  ASSERT_THAT(expected, SizeIs(Gt(15)));
  ASSERT_THAT(none.commits, Gt(30));
  for (uint64_t nth = 1; nth <= none.commits; ++nth) {
    Losses losses;
    World world(with(losses));
    losses = {.nth = nth};
    ASSERT_EQ(live(world), expected) << "commit " << nth << " of " << none.commits;
  }
}

TEST(LostBatch, ReadsBackOnlyTheInstancesThatItLoaded) {
  Losses losses;
  std::set<std::string> read;  // the keys of all reads, and the first keys of all scans
  WorldOptions options = with(losses);
  options.store.fails_read = [&](Table table, std::string_view key) {
    if (table == Table::kLive) read.emplace(key);
    return false;
  };
  World world(options);
  world.apply(kWaits);
  world.apply("id: rests\nstates:\n- {id: rest, type: consumeEvent, event: {type: never}}\n");
  std::vector<std::string> not_loaded;  // before, between and after the loaded instances
  const auto leave_one = [&] {
    const auto id = *parse_instance_id(world.start("rests")["id"].get<std::string>());
    not_loaded.push_back(rows::instance_prefix(NamespaceNumber(1), id));
  };
  leave_one();
  for (int i = 0; i < 20; ++i) {
    world.publish("begin", std::to_string(i), i);
    world.run_until_idle();
    if (i % 10 == 9) leave_one();
  }
  read.clear();
  losses.always = true;
  world.publish("go", "go");
  world.publish("begin", "more");
  world.run_for(seconds(10));
  EXPECT_EQ(world.processor().ready().error().code, "store.io");
  losses.always = false;
  world.run_for(seconds(1));
  EXPECT_THAT(read, SizeIs(Gt(20))) << "the test needs reads";
  for (const std::string& key : read) {
    // A scan of all instances, or of a namespace, would begin at a shorter key, without an
    // instance's id.
    EXPECT_GE(key.size(), not_loaded[0].size());
    for (const std::string& prefix : not_loaded) EXPECT_FALSE(key.starts_with(prefix));
  }
  EXPECT_TRUE(world.processor().ready());
  size_t complete = 0;
  for (const Json& one : world.instances()) complete += one["status"] == "complete" ? 1 : 0;
  EXPECT_EQ(complete, 20U);
}

TEST(LostBatch, KeepsTheCursorOfAnEventStreamThatWasCreatedAgain) {
  const auto cursor_after = [](bool loses) {
    Losses losses;
    World world(with(losses));
    world.apply(kWaits);
    world.publish("begin", "1");
    world.run_until_idle();
    world.broker.recreate_stream();
    world.broker.reconnect();
    world.run_for(seconds(1));
    world.publish("nothing", "2");  // an event without effect: the cursor moves in memory only
    world.run_until_idle();
    losses.nth = loses ? losses.commits + 1 : 0;
    world.publish("begin", "3");
    world.run_for(seconds(2));
    return read_cursor(*Snapshot::take(world.environment())).value();
  };
  const Cursor expected = cursor_after(false);
  const Cursor found = cursor_after(true);
  EXPECT_EQ(found.stream_created, expected.stream_created);
  EXPECT_EQ(found.sequence, expected.sequence);
}

TEST(LostBatch, LeavesNoDefinitionInTheCache) {
  Losses losses;
  World world(with(losses));
  world.evaluator.define("think", [](const Json& input) -> QueryResult { return input; });
  world.evaluator.hold();
  const auto workflow = [](std::string_view type) {
    return fmt::format(R"(
id: thinks
states:
- {{id: think, type: noop, transform: jq(think), transition: wait}}
- {{id: wait, type: consumeEvent, event: {{type: {}}}}}
)",
                       type);
  };
  world.apply(workflow("first"));
  losses.nth = losses.commits + 1;
  const Answered lost = world.command(World::application(workflow("lost")));
  const Answered also = world.command(StartInstance{.ns = "default", .workflow = "thinks"});
  world.run_for(seconds(1));
  ASSERT_TRUE(lost->has_value() && !**lost && also->has_value() && !**also);

  EXPECT_EQ(world.apply(workflow("second"))["revision"], 2);
  const std::string id = world.start("thinks")["id"];
  world.publish("second", "1", "while it thinks");
  world.run_until_idle();
  world.evaluator.release();
  world.run_until_idle();
  EXPECT_EQ(world.instance(id)["status"], "complete") << "the event was kept";
}

}  // namespace
}  // namespace millrace
