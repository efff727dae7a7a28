// One damaged row: what owns it stands still and is named; all else goes on. Every kind of damage
// to every row is in damaged_store_test.cc.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kWaits = R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: go}, transition: rest}
- {id: rest, type: delay, duration: PT1M}
)";

constexpr const char* kBoth = R"(
id: both
states:
- {id: wait, type: eventAnd, events: [{type: left}, {type: go}]}
)";

constexpr const char* kEither = R"(
id: either
states:
- {id: wait, type: eventXor, events: [{event: {type: go}}, {event: {type: tails}}]}
)";

std::string part_of(const std::string& instance, Part part) {
  return rows::instance_prefix(NamespaceNumber(1), *parse_instance_id(instance)) +
         static_cast<char>(part);
}

class Damaged : public testing::Test {
 protected:
  /// Ends the process, changes its store and begins anew.
  void damage(const std::function<void(Transaction& tx)>& change) {
    world.crash();
    world.checks_store = false;  // which finds the damage
    world.change_store(change);
    world.recover();
    world.settle();
  }

  /// Changes the head of a living instance.
  void damage_head(const std::string& id, const std::function<void(Instance& instance)>& change) {
    damage([&](Transaction& tx) {
      auto instance = read_living(tx, NamespaceNumber(1), *parse_instance_id(id));
      ASSERT_TRUE(instance && *instance);
      change(**instance);
      write_instance(tx, **instance, {});
    });
  }

  /// Of two instances of that workflow that wait for `go` the one is damaged and the other ends.
  void expect_only_the_damaged_one_stands_still(
      const char* workflow, const std::string& name,
      const std::function<void(const std::string& id)>& do_damage, const std::string& what) {
    world.apply(workflow);
    const std::string damaged = world.start(name)["id"];
    const std::string other = world.start(name)["id"];
    world.publish("left", "left");
    world.settle();
    do_damage(damaged);
    world.publish("go", "go");
    world.run_for(minutes(2));
    EXPECT_EQ(world.instance(other)["status"], "complete");
    EXPECT_EQ(world.metric("millrace_instances_damaged_total"), 1);
    EXPECT_GE(world.metric("millrace_damaged_rows"), 1);
    const std::string listed = dump_json(world.processor().damages().list());
    EXPECT_THAT(listed, AllOf(HasSubstr("of table live is damaged"), HasSubstr(damaged),
                              HasSubstr(what), HasSubstr("millrace verify")));
    EXPECT_THAT(world.history(other).back(), HasSubstr("ended"));
    // A command about it is refused; others are carried out.
    const Answered asked = world.command(CancelInstance{"default", *parse_instance_id(damaged)});
    const Answered started = world.command(StartInstance{.space = "default", .workflow = name});
    world.settle();
    ASSERT_TRUE(asked->has_value() && started->has_value());
    EXPECT_EQ((**asked).error().code, kDamagedRow);
    EXPECT_TRUE((**started).has_value());
    world.restart();
    world.settle();
    EXPECT_EQ(world.instance(other)["status"], "complete");
  }

  World world;
};

TEST_F(Damaged, AnInstanceInAStateThatItsWorkflowLacksStandsStill) {
  expect_only_the_damaged_one_stands_still(
      kWaits, "waits",
      [&](const std::string& id) {
        damage_head(id, [](Instance& instance) { instance.state = 99; });
      },
      "it is in state 99");
}

TEST_F(Damaged, AnInstanceThatListensInAStateOfAnotherTypeStandsStill) {
  expect_only_the_damaged_one_stands_still(
      kWaits, "waits",
      [&](const std::string& id) {
        damage_head(id, [](Instance& instance) { instance.state = 1; });
      },
      "state \\\"rest\\\" of type delay has 0");
}

TEST_F(Damaged, AnInstanceWithoutItsSlotsStandsStill) {
  expect_only_the_damaged_one_stands_still(
      kBoth, "both",
      [&](const std::string& id) {
        damage([&](Transaction& tx) { tx.erase(Table::kLive, part_of(id, Part::kSlots)); });
      },
      "it has slots for 0 events");
}

TEST_F(Damaged, AnInstanceWhoseSlotsAreNotJsonStandsStill) {
  expect_only_the_damaged_one_stands_still(
      kBoth, "both",
      [&](const std::string& id) {
        damage([&](Transaction& tx) {
          tx.put(Table::kLive, part_of(id, Part::kSlots),
                 encode_slots({LazyJson::of_text("{"), std::nullopt}));
        });
      },
      "slots");
}

TEST_F(Damaged, AnInstanceThatListensForAnEntryThatIsNotThereStandsStill) {
  expect_only_the_damaged_one_stands_still(
      kEither, "either",
      [&](const std::string& id) {
        damage_head(id, [](Instance& instance) { instance.listeners[0].entry = 7; });
      },
      "it listens for event 7");
}

TEST_F(Damaged, AnInstanceWhoseDataIsNotJsonStandsStill) {
  expect_only_the_damaged_one_stands_still(
      kWaits, "waits",
      [&](const std::string& id) {
        damage([&](Transaction& tx) { tx.put(Table::kLive, part_of(id, Part::kInput), "{"); });
      },
      "it is not JSON");
}

TEST_F(Damaged, AnInstanceWithATimerBeforeItsStartOrFarAheadStandsStill) {
  world.apply("id: rests\nstates:\n- {id: rest, type: delay, duration: PT1M}\n");
  const std::string id = world.start("rests")["id"];
  for (const int64_t millis : {int64_t{-1}, int64_t{100'000'000'000'000}}) {
    damage_head(id, [&](Instance& instance) { instance.timers[0].deadline = from_millis(millis); });
    EXPECT_THAT(world.instance(id)["damage"].get<std::string>(), HasSubstr("a timer at "));
    world.run_for(hours(1));
    EXPECT_EQ(world.instance(id)["status"], "waiting");
  }
}

TEST_F(Damaged, AHeadOfAnotherInstanceIsNotTakenForTheOwn) {
  world.apply(kWaits);
  const std::string one = world.start("waits")["id"];
  const std::string other = world.start("waits")["id"];
  damage([&](Transaction& tx) {
    const std::string head(*tx.get(Table::kLive, part_of(one, Part::kHead)));
    tx.put(Table::kLive, part_of(other, Part::kHead), head);
  });
  world.publish("go", "go");
  world.run_for(minutes(2));
  EXPECT_EQ(world.instance(one)["status"], "complete");
  EXPECT_THAT(dump_json(world.processor().damages().list()),
              HasSubstr("it is the head of another instance"));
}

/// Makes the input of an instance something else than JSON.
std::function<void(Transaction& tx)> damage_to_input(const std::string& id) {
  return [id](Transaction& tx) { tx.put(Table::kLive, part_of(id, Part::kInput), "{"); };
}

TEST_F(Damaged, AnInstanceIsRemovedByAnOperator) {
  world.apply(kWaits);
  const std::string id = world.must(
      StartInstance{.space = "default", .workflow = "waits", .idempotency_key = "once"})["id"];
  const std::string sound = world.start("waits")["id"];
  world.must(PutVariable{.place = {.space = "default", .instance = *parse_instance_id(id)},
                         .key = "k",
                         .value = {.bytes = "v"}});
  damage(damage_to_input(id));
  const DeleteInstance remove{.space = "default", .instance = *parse_instance_id(id)};
  const Error refused = world.refusal(remove);
  EXPECT_EQ(refused.code, kDamagedRow);
  EXPECT_THAT(refused.message, HasSubstr("`millrace instance delete " + id + " --damaged`"));

  DeleteInstance damaged = remove;
  damaged.damaged = true;
  EXPECT_EQ(world.must(damaged)["deleted"], true);
  EXPECT_EQ(world.refusal(damaged).code, "instance.not_found");
  EXPECT_EQ(world.must(StartInstance{
                .space = "default", .workflow = "waits", .idempotency_key = "once"})["created"],
            true);
  world.checks_store = true;  // nothing of it is left
  world.restart();
  world.publish("go", "go");
  world.run_for(minutes(2));
  EXPECT_EQ(world.instance(sound)["status"], "complete");
  EXPECT_EQ(world.processor().damages().count(), 0U);
}

TEST_F(Damaged, AnInstanceWithoutAHeadIsRemovedByAnOperator) {
  world.apply(kWaits);
  const std::string id = world.start("waits")["id"];
  damage([&](Transaction& tx) { tx.erase(Table::kLive, part_of(id, Part::kHead)); });
  const DeleteInstance remove{
      .space = "default", .instance = *parse_instance_id(id), .damaged = true};
  EXPECT_EQ(world.must(remove)["deleted"], true);
  EXPECT_EQ(world.refusal(remove).code, "instance.not_found");
}

/// Puts another id into the record of a head, as one flipped byte does.
std::function<void(Transaction& tx)> damage_to_id(const std::string& id,
                                                  NamespaceNumber number = NamespaceNumber(1)) {
  return [id, number](Transaction& tx) {
    const InstanceId key = *parse_instance_id(id);
    auto head = read_living_head(tx, number, key);
    ASSERT_TRUE(head && *head);
    (*head)->id.bytes[15] ^= 1;
    tx.put(Table::kLive, rows::instance_prefix(number, key) + static_cast<char>(Part::kHead),
           encode_head(**head));
  };
}

TEST_F(Damaged, AnInstanceWithAnotherIdInItsHeadIsRemovedWithItsHistory) {
  world.apply(kWaits);
  const std::string id = world.must(
      StartInstance{.space = "default", .workflow = "waits", .idempotency_key = "once"})["id"];
  const std::string sound = world.start("waits")["id"];
  damage(damage_to_id(id));
  EXPECT_EQ(
      world.must(DeleteInstance{
          .space = "default", .instance = *parse_instance_id(id), .damaged = true})["deleted"],
      true);
  world.checks_store = true;  // nothing of it is left
  world.restart();
  world.publish("go", "go");
  world.run_for(minutes(2));
  EXPECT_EQ(world.instance(sound)["status"], "complete");
  EXPECT_EQ(world.processor().damages().count(), 0U);
}

TEST_F(Damaged, ARemovedInstanceWithTheHeadOfAnotherLeavesThatOneItsHistory) {
  world.apply(kWaits);
  const std::string one = world.start("waits")["id"];
  const std::string other = world.start("waits")["id"];
  damage([&](Transaction& tx) {
    const std::string head(*tx.get(Table::kLive, part_of(one, Part::kHead)));
    tx.put(Table::kLive, part_of(other, Part::kHead), head);
  });
  const std::vector<std::string> before = world.history(one);
  world.must(
      DeleteInstance{.space = "default", .instance = *parse_instance_id(other), .damaged = true});
  EXPECT_EQ(world.history(one), before);
}

TEST_F(Damaged, InstancesWithAnotherIdInTheirHeadGoWithTheirWorkflowAndTheirNamespace) {
  world.must(CreateNamespace{.name = "shop"});
  world.apply(kWaits);
  world.apply(kBoth);
  world.apply(kWaits, "shop");
  const std::string one = world.start("waits")["id"];
  const std::string other = world.start("both")["id"];
  const std::string two = world.must(StartInstance{.space = "shop", .workflow = "waits"})["id"];
  damage([&](Transaction& tx) {
    damage_to_id(one)(tx);
    damage_to_id(two, NamespaceNumber(2))(tx);
  });
  EXPECT_EQ(world.must(DeleteWorkflow{.space = "default", .id = "waits", .cancel = true}),
            (Json{{"cancelled", 1}}));
  world.must(DeleteNamespace{.name = "shop", .cancel = true});
  world.settle();
  EXPECT_EQ(world.instance(other)["status"], "waiting");
  world.checks_store = true;
  world.restart();
  EXPECT_EQ(world.processor().damages().count(), 0U);
}

TEST_F(Damaged, ASoundInstanceIsNotRemovedAsADamagedOne) {
  world.apply(kWaits);
  const std::string id = world.start("waits")["id"];
  EXPECT_EQ(world
                .refusal(DeleteInstance{
                    .space = "default", .instance = *parse_instance_id(id), .damaged = true})
                .code,
            "instance.living");
  EXPECT_EQ(world.instance(id)["status"], "waiting");
}

TEST_F(Damaged, TheCallerOfARemovedInstanceGetsAnError) {
  world.apply(kWaits);
  world.apply(R"(
id: calls
functions: [{id: child, type: subflow, workflow: waits}]
states:
- id: call
  type: action
  action: {function: child}
  catch: [{error: direktiv.cancels.api, transition: caught}]
- {id: caught, type: noop}
)");
  const std::string caller = world.start("calls")["id"];
  world.settle();
  const std::string child = world.instance(caller)["calls"][0]["instance"];
  damage(damage_to_input(child));
  world.must(
      DeleteInstance{.space = "default", .instance = *parse_instance_id(child), .damaged = true});
  world.settle();
  EXPECT_EQ(world.instance(caller)["status"], "complete");
  EXPECT_EQ(world.instance(caller)["state"], "caught");
}

TEST_F(Damaged, InstancesGoWithTheirWorkflowAndTheirNamespace) {
  world.must(CreateNamespace{.name = "shop"});
  world.apply(kWaits);
  world.apply(kWaits, "shop");
  const std::string one = world.start("waits")["id"];
  world.start("waits");
  const std::string two = world.must(StartInstance{.space = "shop", .workflow = "waits"})["id"];
  damage([&](Transaction& tx) {
    damage_to_input(one)(tx);
    const std::string key = rows::instance_prefix(NamespaceNumber(2), *parse_instance_id(two));
    tx.put(Table::kLive, key + static_cast<char>(Part::kInput), "{");
  });
  EXPECT_EQ(world.must(DeleteWorkflow{.space = "default", .id = "waits", .cancel = true}),
            (Json{{"cancelled", 2}}));
  EXPECT_EQ(world.must(DeleteNamespace{.name = "shop", .cancel = true}), (Json{{"cancelled", 1}}));
  world.settle();
  world.checks_store = true;
  world.restart();
  EXPECT_EQ(world.processor().damages().count(), 0U);
}

TEST_F(Damaged, AnInstanceOfAWorkflowOfAnotherNamespaceStandsStillAndHoldsUpNoDeletion) {
  world.must(CreateNamespace{.name = "shop"});
  world.must(CreateNamespace{.name = "other"});
  world.apply(kWaits, "shop");
  world.apply(kWaits, "other");
  world.must(StartInstance{.space = "shop", .workflow = "waits"});
  const std::string id = world.must(StartInstance{.space = "other", .workflow = "waits"})["id"];
  damage([&](Transaction& tx) {
    auto head = read_living(tx, NamespaceNumber(3), *parse_instance_id(id));
    ASSERT_TRUE(head && *head);
    (*head)->revision.workflow = WorkflowNumber(1);
    write_instance(tx, **head, {});
  });
  EXPECT_THAT(dump_json(world.processor().damages().list()),
              HasSubstr("which is \\\"waits\\\" in namespace \\\"shop\\\""));
  EXPECT_EQ(world.refusal(CancelInstance{"other", *parse_instance_id(id)}).code, kDamagedRow);
  EXPECT_EQ(world.must(DeleteNamespace{.name = "shop", .cancel = true}), (Json{{"cancelled", 1}}));
}

TEST_F(Damaged, AVariableIsAnErrorThatAWorkflowCanCatch) {
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
  world.must(PutVariable{.place = {.space = "default"}, .key = "k", .value = {.bytes = "v"}});
  const std::string id = world.start("reads")["id"];
  damage([&](Transaction& tx) { tx.put(Table::kVariables, std::string("\0\0\0\1\2k", 6), "x"); });
  world.publish("go", "go");
  world.settle();
  EXPECT_EQ(world.instance(id)["status"], "complete");
  EXPECT_EQ(world.instance(id)["state"], "caught");
}

TEST_F(Damaged, AnEventForAWebhookIsSetAsideAndTheNextOneIsSent) {
  world.receivers.answer = [](const Event&) {
    return DeliveryFailure{.error = {"webhook.refused", "away"}};
  };
  world.must(CreateNamespace{.name = "default",
                             .settings = Json::parse(R"({"webhooks": [{"url": "http://hook"}]})")});
  world.apply("id: quick\nstates:\n- {id: done, type: noop}\n");
  world.start("quick");
  damage([&](Transaction& tx) {
    auto hook = read_hook(tx, 1);
    ASSERT_TRUE(hook && *hook);
    (*hook)->event = "{";
    write_hook(tx, 1, **hook);
  });
  world.receivers.answer = nullptr;
  world.receivers.seen.clear();
  world.run_for(hours(1));
  EXPECT_EQ(world.receivers.seen.size(), 1U) << "that of the end of the instance";
  EXPECT_TRUE(world.processor().ready()) << "it is not tried again";
  EXPECT_THAT(dump_json(world.processor().damages().list()),
              HasSubstr("row 1 of table hooks is damaged: its event does not decode"));
}

TEST_F(Damaged, ADelayedEventIsSetAside) {
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

TEST_F(Damaged, ADefinitionIsReplacedByTheNextThatIsApplied) {
  world.apply(kWaits);
  damage([&](Transaction& tx) {
    write_definition(tx, {WorkflowNumber(1), 1}, {.text = "id: other"});
  });
  const Answered started = world.command(StartInstance{.space = "default", .workflow = "waits"});
  world.settle();
  ASSERT_TRUE(started->has_value());
  EXPECT_EQ((**started).error().code, kDamagedRow);
  world.apply(kWaits);
  const std::string id = world.start("waits")["id"];
  EXPECT_EQ(world.instance(id)["revision"], 2);
}

TEST_F(Damaged, AMissingNamespaceKeepsAllThatWasInItAndIsToldByReadyz) {
  world.must(CreateNamespace{.name = "shop"});
  world.apply(kWaits, "shop");
  world.must(StartInstance{.space = "shop", .workflow = "waits"});
  world.must(PutVariable{.place = {.space = "shop"}, .key = "k", .value = {.bytes = "v"}});
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

TEST_F(Damaged, APurgeErasesNothingThatIsAlive) {
  world.must(CreateNamespace{.name = "shop"});
  world.apply(kWaits);
  world.apply(kWaits, "shop");
  world.must(StartInstance{.space = "shop", .workflow = "waits"});
  world.start("waits");
  world.apply(R"(
id: pair
start: {type: eventsAnd, events: [{type: one}, {type: two}]}
states:
- {id: done, type: noop}
)");
  world.publish("one", "one");
  world.settle();
  const auto before = world.rows();
  damage([&](Transaction& tx) {
    for (const uint64_t number : {1, 2}) {
      write_purge(tx, {.kind = Purge::Kind::kNamespace, .number = number, .record = {}});
      write_purge(tx, {.kind = Purge::Kind::kHistory, .number = number, .record = {}});
    }
    write_purge(tx, {.kind = Purge::Kind::kGroups,
                     .number = 3,
                     .record = {.space = "default", .workflow = "pair", .up_to = 1'000}});
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

/// Puts an errand into the store that no instance made.
std::function<void(Transaction& tx)> planted(Errand errand) {
  return [errand = std::move(errand)](Transaction& tx) {
    write_counter(tx, Counter::kInbox, 1);
    write_inbox(tx, 1, {.errand = errand, .listen_from = 0});
  };
}

constexpr const char* kCalls = R"(
id: calls
functions: [{id: child, type: subflow, workflow: waits}]
states:
- {id: call, type: action, action: {function: child}}
)";

TEST_F(Damaged, AnErrandThatCancelsAnInstanceWhichIsNotAChildIsNotedAndDoesNothing) {
  world.apply(kWaits);
  const InstanceId id = *parse_instance_id(world.start("waits")["id"].get<std::string>());
  damage(planted(CancelChild{.space = NamespaceNumber(1), .child = id}));
  EXPECT_EQ(world.instance(to_string(id))["status"], "waiting");
  EXPECT_THAT(dump_json(world.processor().damages().list()),
              AllOf(HasSubstr("row 1 of table inbox is damaged"), HasSubstr(to_string(id))));
  EXPECT_EQ(world.metric("millrace_damaged_rows"), 1);
}

TEST_F(Damaged, AnErrandThatCancelsAChildForWhichItsCallerWaitsIsNotedAndDoesNothing) {
  world.apply(kWaits);
  world.apply(kCalls);
  const std::string caller = world.start("calls")["id"];
  const std::string child = world.instances().at(1)["id"];
  ASSERT_NE(child, caller);
  damage(planted(CancelChild{.space = NamespaceNumber(1), .child = *parse_instance_id(child)}));
  EXPECT_EQ(world.instance(child)["status"], "waiting");
  EXPECT_EQ(world.metric("millrace_damaged_rows"), 1);
  world.publish("go", "go");
  world.run_for(minutes(2));
  EXPECT_EQ(world.instance(caller)["status"], "complete");
}

TEST_F(Damaged, AnErrandThatStartsAChildUnderAnotherIdThanItsCallsDoesNothing) {
  world.apply(kWaits);
  world.apply(kCalls);
  const std::string caller = world.start("calls")["id"];
  const auto head = read_head_anywhere(*Snapshot::take(world.environment()), NamespaceNumber(1),
                                       *parse_instance_id(caller));
  ASSERT_TRUE(head && *head);
  InstanceId other = *parse_instance_id(caller);
  other.bytes.back() ^= 1;
  damage(planted(StartChild{
      .space = NamespaceNumber(1),
      .child = other,
      .workflow = "waits",
      .input = LazyJson::object({}),
      .caller =
          Caller{.instance = (*head)->id, .entered = (*head)->entered, .index = 0, .attempt = 1},
      .by = (*head)->id}));
  EXPECT_EQ(world.instances().size(), 2U);
}

TEST_F(Damaged, AnErrorThatIsNotUtf8IsShownWithoutTheBytesThatAreNot) {
  world.apply(kWaits);
  world.apply(kCalls);
  const std::string caller = world.start("calls")["id"];
  const auto head = read_head_anywhere(*Snapshot::take(world.environment()), NamespaceNumber(1),
                                       *parse_instance_id(caller));
  ASSERT_TRUE(head && *head);
  damage(planted(ReturnResult{
      .space = NamespaceNumber(1),
      .to = {.instance = (*head)->id, .entered = (*head)->entered, .index = 0, .attempt = 1},
      .result = tl::unexpected(WorkflowError{"broken", "caf\xe9"})}));
  EXPECT_EQ(world.instance(caller)["status"], "failed");
  EXPECT_EQ(world.instance(caller)["error"]["msg"], "caf?");
  EXPECT_EQ(world.metric("millrace_damaged_rows"), 0);
}

TEST_F(Damaged, AMessageThatNoBrokerCanBeSentIsNotedAndThoseBehindItGoOut) {
  const std::pair<const char*, NatsMessage> messages[] = {
      {"a header's value with a line break",
       {.subject = "millrace.lifecycle.default.x.y", .headers = {{"A", "b\r\nC: d"}}, .data = ""}},
      {"a header without a name",
       {.subject = "millrace.lifecycle.default.x.y", .headers = {{"", "b"}}, .data = ""}},
      {"a subject with a blank", {.subject = "millrace.lifecycle x", .headers = {}, .data = ""}},
      {"an empty token", {.subject = "millrace..x", .headers = {}, .data = ""}},
      {"no subject", {.subject = "", .headers = {}, .data = ""}},
  };
  world.apply(kWaits);
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
    world.settle_publishes();
    ASSERT_FALSE(world.broker.others().empty()) << what;
    EXPECT_EQ(world.broker.others().back().message.data, what);
    EXPECT_EQ(world.metric("millrace_damaged_rows"), ++noted) << what;
  }
}

/// With what the start is refused on a store that was changed so.
Error refusal_of(const std::function<void(Transaction& tx)>& change) {
  World world;
  world.apply(kWaits);
  world.start("waits");
  world.crash();
  world.checks_store = false;
  world.change_store(change);
  const Status begun = world.try_recover();
  return begun ? Error{"begun", ""} : begun.error();
}

TEST(DamagedStart, IsRefusedWhereNumbersWouldBeGivenTwiceOrRunOut) {
  for (const uint64_t last : {uint64_t{0}, uint64_t{1} << 56, ~uint64_t{0}}) {
    const Error error =
        refusal_of([&](Transaction& tx) { write_counter(tx, Counter::kHistory, last); });
    EXPECT_EQ(error.code, kDamagedRow) << last;
    EXPECT_THAT(error.message, AllOf(HasSubstr("row counter/c of table meta is damaged"),
                                     HasSubstr("millrace verify")));
  }
}

TEST(DamagedStart, IsRefusedWhereTheTimeIsNotOneThatWas) {
  for (const int64_t time : {int64_t{1} << 60, int64_t{-1}, int64_t{100'000'000'000'000}}) {
    const Error error =
        refusal_of([&](Transaction& tx) { write_engine_time(tx, from_millis(time)); });
    EXPECT_EQ(error.code, kDamagedRow) << time;
    EXPECT_THAT(error.message, HasSubstr("row time of table meta is damaged"));
  }
}

TEST(DamagedStart, IsRefusedWhereTwoNamespacesHaveOneNumber) {
  const Error error = refusal_of(
      [&](Transaction& tx) { write_namespace(tx, "twin", {.number = NamespaceNumber(1)}); });
  EXPECT_EQ(error.code, kDamagedRow);
  EXPECT_THAT(error.message, HasSubstr("row twin of table namespaces is damaged"));
}

// The purge of a deleted namespace erases what its workflows' numbers name.
TEST(DamagedStart, IsRefusedWhereAWorkflowHasTheNumberOfOneInADeletedNamespace) {
  const Error error = refusal_of([&](Transaction& tx) {
    write_workflow(tx, NamespaceNumber(9), "twin", {.number = WorkflowNumber(1), .latest = 1});
  });
  EXPECT_EQ(error.code, kDamagedRow);
  EXPECT_THAT(error.message, HasSubstr("it has number 1, and so has workflow \"waits\""));
}

}  // namespace
}  // namespace millrace
