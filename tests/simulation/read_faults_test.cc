// The nth read of the store fails, or all reads of one table fail for a time. When reads succeed
// again, millrace does the work; until then /readyz reports the fault.
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kPublishesThenCalls = R"(
id: tells
functions:
- id: charge
  type: knative-namespace
  service: charge
  files: [{key: prices, scope: namespace}]
states:
- {id: one, type: generateEvent, event: {type: told, source: /t, data: 1}, transition: two}
- {id: two, type: generateEvent, event: {type: told, source: /t, data: 2}, transition: pay}
- {id: pay, type: action, action: {function: charge}}
)";

/// Which reads fail.
struct Faults {
  std::optional<uint64_t> nth;  ///< counted from 1
  std::optional<Table> table;   ///< every read of this table
  uint64_t reads = 0;

  bool strikes(Table of) {
    ++reads;
    return nth == reads || table == of;
  }
};

/// A world in which reads may fail, with a workflow and the workflow's variable.
struct Started {
  static WorldOptions options(Faults& faults) {
    WorldOptions options;
    options.store.fails_read = [&faults](Table table, std::string_view) {
      return faults.strikes(table);
    };
    return options;
  }

  Started() {
    world.must(CreateNamespace{
        .name = "default",
        .settings = Json::parse(
            R"({"webhooks": [{"url": "http://hook", "types": ["millrace.instance.started"]}]})")});
    world.must(PutVariable{.place = {.ns = "default"},
                           .key = "prices",
                           .value = {.content_type = "text/plain", .bytes = "cheap"}});
    world.apply(kPublishesThenCalls);
    faults.reads = 0;
  }

  void expect_all_done() {
    ASSERT_THAT(world.functions.tasks(), SizeIs(1));
    const Task& task = world.functions.tasks()[0];
    ASSERT_THAT(task.files, SizeIs(1));
    EXPECT_EQ(task.files[0].bytes, "cheap");
    ASSERT_THAT(world.events("told"), SizeIs(2));
    EXPECT_EQ(world.events("told")[0].data, "1");
    EXPECT_EQ(world.events("told")[1].data, "2");
    EXPECT_THAT(world.receivers.seen, SizeIs(1));
    const Status ready = world.processor().ready();
    EXPECT_TRUE(ready) << ready.error().message;
  }

  /// Runs `begin` and some steps while the reads of that table fail; returns the answer of /readyz.
  std::string while_failing(Table table, const std::function<void()>& begin) {
    faults.table = table;
    begin();
    for (int i = 0; i < 20; ++i) world.step();
    const Status ready = world.processor().ready();
    faults.table.reset();
    world.run_for(seconds(3));
    return ready ? "ready" : ready.error().code + ": " + ready.error().message;
  }

  Faults faults;
  World world{options(faults)};
};

class ReadFaults : public testing::Test, protected Started {};

TEST_F(ReadFaults, HoldBackATaskWhoseVariableCannotBeRead) {
  const std::string ready = while_failing(Table::kVariables, [&] {
    world.command(StartInstance{.ns = "default", .workflow = "tells"});
  });
  EXPECT_THAT(ready, HasSubstr("reading variable prices: a read of variables was made to fail"));
  expect_all_done();
}

TEST_F(ReadFaults, KeepATaskDue) {
  // A task is handed out with reads of three tables: its row, the instance that has the deadlines
  // of its call, and the variable that it gets as a file.
  const std::pair<Table, const char*> cases[] = {
      {Table::kTasks, "store.io: the tasks: a read of tasks was made to fail"},
      {Table::kLive, "store.io: the tasks: a read of live was made to fail"},
      {Table::kVariables,
       "store.io: the tasks: reading variable prices: a read of variables was made to fail"},
  };
  for (const auto& [table, says] : cases) {
    Started one;
    one.world.broker.disconnect();
    one.world.start("tells");
    one.world.functions.be_replaced();
    one.world.restart();  // the task is due again, and is read from its row
    EXPECT_EQ(one.while_failing(table, [&] { one.world.broker.reconnect(); }), says);
    one.expect_all_done();
  }
}

TEST_F(ReadFaults, KeepAWebhookDeliveryDue) {
  const std::string ready = while_failing(Table::kWebhooks, [&] {
    world.command(StartInstance{.ns = "default", .workflow = "tells"});
  });
  EXPECT_EQ(ready, "store.io: the events for webhooks: a read of hooks was made to fail");
  expect_all_done();
}

TEST_F(ReadFaults, KeepTheOrderOfTheOutbox) {
  world.broker.disconnect();
  world.start("tells");
  world.restart();  // the messages are read from their rows
  const std::string ready = while_failing(Table::kOutbox, [&] { world.broker.reconnect(); });
  EXPECT_EQ(ready, "store.io: the outbox: a read of outbox was made to fail");
  world.answer_publishes();
  EXPECT_THAT(world.events("told"), SizeIs(2));
}

TEST_F(ReadFaults, FailACallThatWaitsForAnEndAndNoOtherCommand) {
  const Json started = world.start("tells");
  world.run_for(seconds(1));
  faults.table = Table::kLive;
  const Answered waited = world.wait_for_end(started["id"], seconds(10));
  world.step();
  faults.table.reset();
  ASSERT_TRUE(waited->has_value());
  ASSERT_FALSE(**waited);
  EXPECT_EQ((**waited).error().code, "store.io");
  const Answered created = world.command(CreateNamespace{.name = "other"});
  world.run_until_idle();
  ASSERT_TRUE(created->has_value());
  EXPECT_TRUE(**created) << (**created).error().message;
}

TEST(EveryReadFault, LosesNothing) {
  uint64_t most = 1;
  for (uint64_t nth = 1; nth <= most; ++nth) {
    Faults faults;
    WorldOptions options;
    options.store.fails_read = [&faults](Table table, std::string_view) {
      return faults.strikes(table);
    };
    World world(options);
    world.must(PutVariable{.place = {.ns = "default"},
                           .key = "prices",
                           .value = {.content_type = "text/plain", .bytes = "cheap"}});
    world.apply(kPublishesThenCalls);
    faults.reads = 0;
    faults.nth = nth;
    const Answered started = world.command(
        StartInstance{.ns = "default", .workflow = "tells", .idempotency_key = "key"});
    world.run_for(seconds(3));
    ASSERT_TRUE(started->has_value()) << nth;
    if (!**started) {  // the command was refused, because its batch was lost
      EXPECT_EQ((**started).error().code, "store.io") << nth;
      world.start("tells", Json::object(), "key");
      world.run_for(seconds(3));
    }
    most = std::max(most, faults.reads);
    faults.nth.reset();  // the check at the end also reads
    ASSERT_LT(nth, 1'000U) << "the number of reads does not end";
    ASSERT_THAT(world.functions.tasks(), SizeIs(1)) << nth;
    EXPECT_EQ(world.functions.tasks()[0].files.at(0).bytes, "cheap") << nth;
    EXPECT_THAT(world.events("told"), SizeIs(2)) << nth;
    EXPECT_TRUE(world.processor().ready()) << nth;
  }
  EXPECT_GT(most, 10U);
}

// The nth read of a restarted process fails. That process finds tasks, messages and an event for a
// webhook in the store.
TEST(EveryReadFault, LosesNothingAfterARestart) {
  uint64_t most = 1;
  for (uint64_t nth = 1; nth <= most; ++nth) {
    Started one;
    World& world = one.world;
    world.broker.disconnect();
    world.receivers.answer = [](const Event&) { return WebhookFailure{.error = {"webhook", ""}}; };
    world.start("tells");
    world.functions.be_replaced();
    world.receivers = {};
    world.crash();
    one.faults = {.nth = nth};
    if (const Status started = world.try_recover(); !started) {
      EXPECT_EQ(started.error().code, "store.io") << nth;
      world.recover();
    }
    world.broker.reconnect();
    world.run_for(std::chrono::minutes(1));
    most = std::max(most, one.faults.reads);
    one.faults.nth.reset();
    ASSERT_LT(nth, 2'000U) << "the number of reads does not end";
    one.expect_all_done();
    if (testing::Test::HasFailure()) FAIL() << "read " << nth << " failed";
  }
  EXPECT_GT(most, 20U);
}

}  // namespace
}  // namespace millrace
