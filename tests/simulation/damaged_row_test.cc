// A damaged row that does not belong to an instance: only what the row belongs to stops, and is
// reported; or millrace refuses to start. Tests of damaged rows of instances are in
// damaged_instance_test.cc, those of all kinds of damage to all rows in damaged_store_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/simulation/damaged_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

using DamagedRow = Damaged;

TEST_F(DamagedRow, OfAVariableRaisesAnErrorThatACatchCanMatch) {
  world.apply(R"(
id: reads
states:
- id: wait
  type: consumeEvent
  event: {type: go}
  transition: get
- id: get
  type: getter
  variables: [{key: k, scope: namespace}]
  catch: [{error: millrace.store.damaged, transition: caught}]
- {id: caught, type: noop}
)");
  world.must(PutVariable{.place = {.ns = "default"}, .key = "k", .value = {.bytes = "v"}});
  const std::string id = world.start("reads")["id"];
  damage([&](Transaction& tx) { tx.put(Table::kVariables, std::string("\0\0\0\1\2k", 6), "x"); });
  world.publish("go", "go");
  world.run_until_idle();
  EXPECT_EQ(world.instance(id)["status"], "complete");
  EXPECT_EQ(world.instance(id)["state"], "caught");
}

TEST_F(DamagedRow, StopsOneWebhookDeliveryAndNoOther) {
  world.receivers.answer = [](const Event&) {
    return WebhookFailure{.error = {"webhook.refused", "away"}};
  };
  world.must(CreateNamespace{.name = "default",
                             .settings = Json::parse(R"({"webhooks": [{"url": "http://hook"}]})")});
  world.apply("id: quick\nstates:\n- {id: done, type: noop}\n");
  world.start("quick");
  damage([&](Transaction& tx) {
    auto webhook = read_webhook(tx, 1);
    ASSERT_TRUE(webhook && *webhook);
    (*webhook)->event = "{";
    write_webhook(tx, 1, **webhook);
  });
  world.receivers.answer = nullptr;
  world.receivers.seen.clear();
  world.run_for(hours(1));
  EXPECT_EQ(world.receivers.seen.size(), 1U) << "the event of the end of the instance";
  EXPECT_TRUE(world.processor().ready()) << "the damaged event is not retried";
  EXPECT_THAT(dump_json(world.processor().damages().list()),
              HasSubstr("row 1 of table hooks is damaged: its event does not decode"));
}

TEST_F(DamagedRow, StopsOneDelayedEventAndNoOther) {
  world.apply(R"(
id: reminds
states:
- {id: remind, type: generateEvent, delay: PT1H, event: {type: reminder, source: /r}}
)");
  world.start("reminds");
  world.start("reminds");
  damage([&](Transaction& tx) {
    auto event = read_delayed(tx, 1);
    ASSERT_TRUE(event && *event);
    (*event)->event = "[]";
    write_delayed(tx, 1, **event);
  });
  world.run_for(hours(2));
  EXPECT_EQ(world.events("reminder").size(), 1U);
  EXPECT_THAT(dump_json(world.processor().damages().list()),
              HasSubstr("row 1 of table delayed is damaged"));
}

TEST_F(DamagedRow, OfADefinitionPreventsStartsUntilTheDefinitionIsAppliedAgain) {
  world.apply(kWaitsThenRests);
  damage([&](Transaction& tx) {
    write_definition(tx, {WorkflowNumber(1), 1}, {.text = "id: other"});
  });
  const Answered started = world.command(StartInstance{.ns = "default", .workflow = "waits"});
  world.run_until_idle();
  ASSERT_TRUE(started->has_value());
  EXPECT_EQ((**started).error().code, kDamagedRow);
  world.apply(kWaitsThenRests);
  const std::string id = world.start("waits")["id"];
  EXPECT_EQ(world.instance(id)["revision"], 2);
}

TEST_F(DamagedRow, IsReportedByReadyzAndErasesNoDataIfTheRowOfANamespaceIsMissing) {
  world.must(CreateNamespace{.name = "shop"});
  world.apply(kWaitsThenRests, "shop");
  world.must(StartInstance{.ns = "shop", .workflow = "waits"});
  world.must(PutVariable{.place = {.ns = "shop"}, .key = "k", .value = {.bytes = "v"}});
  const auto before = world.rows();
  std::string lost;
  damage([&](Transaction& tx) {
    lost = *tx.get(Table::kNamespaces, "shop");
    tx.erase(Table::kNamespaces, "shop");
  });
  world.run_for(hours(1));
  const Status ready = world.processor().ready();
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().code, kDamagedRow);
  EXPECT_THAT(ready.error().message, AllOf(HasSubstr("table namespaces has no row of number 2"),
                                           HasSubstr("millrace verify")));
  damage([&](Transaction& tx) { tx.put(Table::kNamespaces, "shop", lost); });
  EXPECT_EQ(world.rows(), before);
  EXPECT_TRUE(world.processor().ready());
}

TEST_F(DamagedRow, DoesNotMakeAPurgeEraseLiveRows) {
  world.must(CreateNamespace{.name = "shop"});
  world.apply(kWaitsThenRests);
  world.apply(kWaitsThenRests, "shop");
  world.must(StartInstance{.ns = "shop", .workflow = "waits"});
  world.start("waits");
  world.apply(R"(
id: pair
start: {type: eventsAnd, events: [{type: one}, {type: two}]}
states:
- {id: done, type: noop}
)");
  world.publish("one", "one");
  world.run_until_idle();
  const auto before = world.rows();
  damage([&](Transaction& tx) {
    for (const uint64_t number : {1, 2}) {
      write_purge(tx, {.kind = Purge::Kind::kNamespace, .number = number, .record = {}});
      write_purge(tx, {.kind = Purge::Kind::kHistory, .number = number, .record = {}});
    }
    write_purge(tx, {.kind = Purge::Kind::kGroups,
                     .number = 3,
                     .record = {.ns = "default", .workflow = "pair", .up_to = 1'000}});
  });
  world.run_for(hours(1));
  const auto after = world.rows();
  for (const auto& [key, value] : before) {
    if (key.starts_with("meta/")) continue;
    EXPECT_TRUE(after.contains(key)) << key;
  }
  EXPECT_THAT(world.dead_letters(), IsEmpty());
  EXPECT_GE(world.processor().damages().count(), 5U);
}

/// A change to the store that adds an instance message which no instance has sent.
std::function<void(Transaction& tx)> planted(InstanceMessage message) {
  return [message = std::move(message)](Transaction& tx) {
    write_counter(tx, Counter::kInbox, 1);
    write_inbox(tx, 1, {.message = message, .listen_from = {}});
  };
}

constexpr const char* kCalls = R"(
id: calls
functions: [{id: child, type: subflow, workflow: waits}]
states:
- {id: call, type: action, action: {function: child}}
)";

TEST_F(DamagedRow, IsReportedIfAnInstanceMessageCancelsAnInstanceThatIsNoSubflow) {
  world.apply(kWaitsThenRests);
  const InstanceId id = *parse_instance_id(world.start("waits")["id"].get<std::string>());
  damage(planted(CancelChild{.ns = NamespaceNumber(1), .child = id}));
  EXPECT_EQ(world.instance(to_string(id))["status"], "waiting");
  EXPECT_THAT(dump_json(world.processor().damages().list()),
              AllOf(HasSubstr("row 1 of table inbox is damaged"), HasSubstr(to_string(id))));
  EXPECT_EQ(world.metric("millrace_damaged_rows"), 1);
}

TEST_F(DamagedRow, IsReportedIfAnInstanceMessageCancelsASubflowThatItsCallerWaitsFor) {
  world.apply(kWaitsThenRests);
  world.apply(kCalls);
  const std::string caller = world.start("calls")["id"];
  const std::string child = world.instances().at(1)["id"];
  ASSERT_NE(child, caller);
  damage(planted(CancelChild{.ns = NamespaceNumber(1), .child = *parse_instance_id(child)}));
  EXPECT_EQ(world.instance(child)["status"], "waiting");
  EXPECT_EQ(world.metric("millrace_damaged_rows"), 1);
  world.publish("go", "go");
  world.run_for(minutes(2));
  EXPECT_EQ(world.instance(caller)["status"], "complete");
}

TEST_F(DamagedRow, StartsNoSubflowUnderAnotherIdThanThatOfItsCall) {
  world.apply(kWaitsThenRests);
  world.apply(kCalls);
  const std::string caller = world.start("calls")["id"];
  const auto head = read_head_anywhere(*Snapshot::take(world.environment()), NamespaceNumber(1),
                                       *parse_instance_id(caller));
  ASSERT_TRUE(head && *head);
  InstanceId other = *parse_instance_id(caller);
  other.bytes.back() ^= 1;
  damage(planted(StartChild{
      .ns = NamespaceNumber(1),
      .child = other,
      .workflow = "waits",
      .input = LazyJson::object({}),
      .caller =
          Caller{.instance = (*head)->id, .entered = (*head)->entered, .index = 0, .attempt = 1},
      .by = (*head)->id}));
  EXPECT_EQ(world.instances().size(), 2U);
}

TEST_F(DamagedRow, ShowsAnErrorWithItsInvalidUtf8Replaced) {
  world.apply(kWaitsThenRests);
  world.apply(kCalls);
  const std::string caller = world.start("calls")["id"];
  const auto head = read_head_anywhere(*Snapshot::take(world.environment()), NamespaceNumber(1),
                                       *parse_instance_id(caller));
  ASSERT_TRUE(head && *head);
  damage(planted(ReturnResult{
      .ns = NamespaceNumber(1),
      .to = {.instance = (*head)->id, .entered = (*head)->entered, .index = 0, .attempt = 1},
      .result = tl::unexpected(Error{"broken", "caf\xe9"})}));
  EXPECT_EQ(world.instance(caller)["status"], "failed");
  EXPECT_EQ(world.instance(caller)["error"]["msg"], "caf?");
  EXPECT_EQ(world.metric("millrace_damaged_rows"), 0);
}

TEST_F(DamagedRow, StopsAnInvalidMessageOfTheOutboxAndNoLaterMessage) {
  const std::pair<const char*, NatsMessage> messages[] = {
      {"a header's value with a line break",
       {.subject = "millrace.lifecycle.default.x.y", .headers = {{"A", "b\r\nC: d"}}, .data = ""}},
      {"a header without a name",
       {.subject = "millrace.lifecycle.default.x.y", .headers = {{"", "b"}}, .data = ""}},
      {"a subject with a blank", {.subject = "millrace.lifecycle x", .headers = {}, .data = ""}},
      {"an empty token", {.subject = "millrace..x", .headers = {}, .data = ""}},
      {"no subject", {.subject = "", .headers = {}, .data = ""}},
  };
  world.apply(kWaitsThenRests);
  const InstanceId id = *parse_instance_id(world.start("waits")["id"].get<std::string>());
  double noted = 0;
  for (const auto& [what, message] : messages) {
    NatsMessage sound{.subject = "millrace.lifecycle.default.x.sound", .headers = {}, .data = what};
    damage([&, &broken = message](Transaction& tx) {
      const uint64_t last = read_counter(tx, Counter::kOutbox).value();
      write_outbox(tx, last + 1, {.instance = id, .message = broken});
      write_outbox(tx, last + 2, {.instance = id, .message = sound});
      write_counter(tx, Counter::kOutbox, last + 2);
    });
    world.answer_publishes();
    ASSERT_FALSE(world.broker.others().empty()) << what;
    EXPECT_EQ(world.broker.others().back().message.data, what);
    EXPECT_EQ(world.metric("millrace_damaged_rows"), ++noted) << what;
  }
}

/// The error with which millrace refuses to start on a store with that change.
Error refusal_of(const std::function<void(Transaction& tx)>& change) {
  World world;
  world.apply(kWaitsThenRests);
  world.start("waits");
  world.crash();
  world.checks_store = false;
  world.change_store(change);
  const Status started = world.try_recover();
  return started ? Error{"begun", ""} : started.error();
}

TEST(ProcessStart, IsRefusedIfTheNumbersOfHistoryRowsWouldRepeatOrRunOut) {
  for (const uint64_t last : {uint64_t{0}, uint64_t{1} << 56, ~uint64_t{0}}) {
    const Error error =
        refusal_of([&](Transaction& tx) { write_counter(tx, Counter::kHistory, last); });
    EXPECT_EQ(error.code, kDamagedRow) << last;
    EXPECT_THAT(error.message, AllOf(HasSubstr("row counter/c of table meta is damaged"),
                                     HasSubstr("millrace verify")));
  }
}

TEST(ProcessStart, IsRefusedIfTheStoredEngineTimeIsImpossible) {
  for (const int64_t time : {int64_t{1} << 60, int64_t{-1}, int64_t{100'000'000'000'000}}) {
    const Error error =
        refusal_of([&](Transaction& tx) { write_engine_time(tx, from_millis(time)); });
    EXPECT_EQ(error.code, kDamagedRow) << time;
    EXPECT_THAT(error.message, HasSubstr("row time of table meta is damaged"));
  }
}

TEST(ProcessStart, IsRefusedIfTwoNamespacesHaveTheSameNumber) {
  const Error error = refusal_of(
      [&](Transaction& tx) { write_namespace(tx, "twin", {.number = NamespaceNumber(1)}); });
  EXPECT_EQ(error.code, kDamagedRow);
  EXPECT_THAT(error.message, HasSubstr("row twin of table namespaces is damaged"));
}

// If two workflows had one number, the purge of a deleted namespace would erase the rows of another
// namespace's workflow.
TEST(ProcessStart, IsRefusedIfTwoWorkflowsHaveTheSameNumber) {
  const Error error = refusal_of([&](Transaction& tx) {
    write_workflow(tx, NamespaceNumber(9), "twin", {.number = WorkflowNumber(1), .latest = 1});
  });
  EXPECT_EQ(error.code, kDamagedRow);
  EXPECT_THAT(error.message, HasSubstr("it has number 1, which workflow \"waits\" also has"));
}

}  // namespace
}  // namespace millrace
