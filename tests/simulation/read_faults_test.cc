// The nth read of the store fails, or all reads of one table do for a while: what they were for is
// done once they succeed again, and /readyz tells of it until then.
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

constexpr const char* kTellsOnce = R"(
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
  std::optional<Table> table;   ///< all of this one
  uint64_t reads = 0;

  bool strikes(Table of) {
    ++reads;
    return nth == reads || table == of;
  }
};

/// A world in which reads may fail, with the workflow and all that it needs.
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
    world.must(PutVariable{.place = {.space = "default"},
                           .key = "prices",
                           .value = {.content_type = "text/plain", .bytes = "cheap"}});
    world.apply(kTellsOnce);
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

  /// Starts one and lets it run, while the reads of that table fail; what /readyz says then.
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

TEST_F(ReadFaults, OfAVariableKeepTheTaskBackAndHandItNoEmptyFile) {
  const std::string ready = while_failing(Table::kVariables, [&] {
    world.command(StartInstance{.space = "default", .workflow = "tells"});
  });
  EXPECT_THAT(ready, HasSubstr("reading variable prices: a read of variables was made to fail"));
  expect_all_done();
}

TEST_F(ReadFaults, OfATaskKeepItDue) {
  // Its own row; that of the instance whose call has its deadlines; the variable it takes.
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
    one.world.restart();  // so that it is due, and read from its row
    EXPECT_EQ(one.while_failing(table, [&] { one.world.broker.reconnect(); }), says);
    one.expect_all_done();
  }
}

TEST_F(ReadFaults, OfAWebhooksEventKeepItDue) {
  const std::string ready = while_failing(Table::kHooks, [&] {
    world.command(StartInstance{.space = "default", .workflow = "tells"});
  });
  EXPECT_EQ(ready, "store.io: the events for webhooks: a read of hooks was made to fail");
  expect_all_done();
}

TEST_F(ReadFaults, OfTheOutboxKeepItsMessagesInTheirOrder) {
  world.broker.disconnect();
  world.start("tells");
  world.restart();  // so that they are read from their rows
  const std::string ready = while_failing(Table::kOutbox, [&] { world.broker.reconnect(); });
  EXPECT_EQ(ready, "store.io: the outbox: a read of outbox was made to fail");
  world.settle_publishes();
  EXPECT_THAT(world.events("told"), SizeIs(2));
}

TEST_F(ReadFaults, OfAnInstanceWhoseEndIsWaitedForLoseNoOtherWork) {
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
  world.settle();
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
    world.must(PutVariable{.place = {.space = "default"},
                           .key = "prices",
                           .value = {.content_type = "text/plain", .bytes = "cheap"}});
    world.apply(kTellsOnce);
    faults.reads = 0;
    faults.nth = nth;
    const Answered started = world.command(
        StartInstance{.space = "default", .workflow = "tells", .idempotency_key = "key"});
    world.run_for(seconds(3));
    ASSERT_TRUE(started->has_value()) << nth;
    if (!**started) {  // it was refused, with the batch that it was in
      EXPECT_EQ((**started).error().code, "store.io") << nth;
      world.start("tells", Json::object(), "key");
      world.run_for(seconds(3));
    }
    most = std::max(most, faults.reads);
    faults.nth.reset();  // what checks the store at the end reads as well
    ASSERT_LT(nth, 1'000U) << "it reads on and on";
    ASSERT_THAT(world.functions.tasks(), SizeIs(1)) << nth;
    EXPECT_EQ(world.functions.tasks()[0].files.at(0).bytes, "cheap") << nth;
    EXPECT_THAT(world.events("told"), SizeIs(2)) << nth;
    EXPECT_TRUE(world.processor().ready()) << nth;
  }
  EXPECT_GT(most, 10U);
}

/// The same of those that a process makes which comes after another: it finds tasks, messages and
/// a webhook's event in the store.
TEST(EveryReadFault, BehindARestartLosesNothing) {
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
    if (const Status begun = world.try_recover(); !begun) {
      EXPECT_EQ(begun.error().code, "store.io") << nth;
      world.recover();
    }
    world.broker.reconnect();
    world.run_for(std::chrono::minutes(1));
    most = std::max(most, one.faults.reads);
    one.faults.nth.reset();
    ASSERT_LT(nth, 2'000U) << "it reads on and on";
    one.expect_all_done();
    if (testing::Test::HasFailure()) FAIL() << "read " << nth << " failed";
  }
  EXPECT_GT(most, 20U);
}

}  // namespace
}  // namespace millrace
