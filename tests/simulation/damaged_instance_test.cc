// A damaged row of an instance: the instance stops and is reported, all others continue, and an
// operator can remove it. Tests of other damaged rows are in damaged_row_test.cc, those of all
// kinds of damage to all rows in damaged_store_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/simulation/damaged_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::HasSubstr;

using DamagedInstance = Damaged;

TEST_F(DamagedInstance, StopsWhenItsWorkflowLacksItsState) {
  expect_only_the_damaged_one_stands_still(
      kWaitsThenRests, "waits",
      [&](const std::string& id) {
        damage_head(id, [](Instance& instance) { instance.state = 99; });
      },
      "the instance is in state 99");
}

TEST_F(DamagedInstance, StopsIfItHasListenersInAStateThatWaitsForNoEvent) {
  expect_only_the_damaged_one_stands_still(
      kWaitsThenRests, "waits",
      [&](const std::string& id) {
        damage_head(id, [](Instance& instance) { instance.state = 1; });
      },
      "state \\\"rest\\\" of type delay waits for 0 events");
}

TEST_F(DamagedInstance, StopsIfItsSlotsForEventsAreMissing) {
  expect_only_the_damaged_one_stands_still(
      kBoth, "both",
      [&](const std::string& id) {
        damage([&](Transaction& tx) { tx.erase(Table::kLive, part_of(id, Part::kSlots)); });
      },
      "the instance has slots for 0 events");
}

TEST_F(DamagedInstance, StopsIfItsSlotsForEventsAreNotJson) {
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

TEST_F(DamagedInstance, StopsWhenItListensForAnEntryThatDoesNotExist) {
  expect_only_the_damaged_one_stands_still(
      kEither, "either",
      [&](const std::string& id) {
        damage_head(id, [](Instance& instance) { instance.listeners[0].entry = 7; });
      },
      "the instance listens for event 7");
}

TEST_F(DamagedInstance, StopsWhenItsDataIsNotJson) {
  expect_only_the_damaged_one_stands_still(
      kWaitsThenRests, "waits",
      [&](const std::string& id) {
        damage([&](Transaction& tx) { tx.put(Table::kLive, part_of(id, Part::kInput), "{"); });
      },
      "it is not JSON");
}

TEST_F(DamagedInstance, StopsIfItsTimerIsBeforeTheStartOfTheInstanceOrFarInTheFuture) {
  world.apply("id: rests\nstates:\n- {id: rest, type: delay, duration: PT1M}\n");
  const std::string id = world.start("rests")["id"];
  for (const int64_t millis : {int64_t{-1}, int64_t{100'000'000'000'000}}) {
    damage_head(id, [&](Instance& instance) { instance.timers[0].deadline = from_millis(millis); });
    EXPECT_THAT(world.instance(id)["damage"].get<std::string>(), HasSubstr("a timer at "));
    world.run_for(hours(1));
    EXPECT_EQ(world.instance(id)["status"], "waiting");
  }
}

TEST_F(DamagedInstance, StopsWhenItHasTheHeadOfAnotherInstance) {
  world.apply(kWaitsThenRests);
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

TEST_F(DamagedInstance, IsRemovedByAnOperator) {
  world.apply(kWaitsThenRests);
  const std::string id = world.must(
      StartInstance{.ns = "default", .workflow = "waits", .idempotency_key = "once"})["id"];
  const std::string sound = world.start("waits")["id"];
  world.must(PutVariable{.place = {.ns = "default", .instance = *parse_instance_id(id)},
                         .key = "k",
                         .value = {.bytes = "v"}});
  damage(damage_to_input(id));
  const DeleteInstance remove{.ns = "default", .instance = *parse_instance_id(id)};
  const Error refused = world.refusal(remove);
  EXPECT_EQ(refused.code, kDamagedRow);
  EXPECT_THAT(refused.message, HasSubstr("`millrace instance delete " + id + " --damaged`"));

  DeleteInstance damaged = remove;
  damaged.damaged = true;
  EXPECT_EQ(world.must(damaged)["deleted"], true);
  EXPECT_EQ(world.refusal(damaged).code, "instance.not_found");
  EXPECT_EQ(world.must(StartInstance{
                .ns = "default", .workflow = "waits", .idempotency_key = "once"})["created"],
            true);
  world.checks_store = true;  // no row of it is left
  world.restart();
  world.publish("go", "go");
  world.run_for(minutes(2));
  EXPECT_EQ(world.instance(sound)["status"], "complete");
  EXPECT_EQ(world.processor().damages().count(), 0U);
}

TEST_F(DamagedInstance, IsRemovedByAnOperatorWhenItHasNoHead) {
  world.apply(kWaitsThenRests);
  const std::string id = world.start("waits")["id"];
  damage([&](Transaction& tx) { tx.erase(Table::kLive, part_of(id, Part::kHead)); });
  const DeleteInstance remove{.ns = "default", .instance = *parse_instance_id(id), .damaged = true};
  EXPECT_EQ(world.must(remove)["deleted"], true);
  EXPECT_EQ(world.refusal(remove).code, "instance.not_found");
}

/// A change to the store: one bit of the id in the record of an instance's head is another.
std::function<void(Transaction& tx)> damage_to_id(const std::string& id,
                                                  NamespaceNumber number = NamespaceNumber(1)) {
  return [id, number](Transaction& tx) {
    const InstanceId key = *parse_instance_id(id);
    auto head = read_live_head(tx, number, key);
    ASSERT_TRUE(head && *head);
    (*head)->id.bytes[15] ^= 1;
    tx.put(Table::kLive, rows::instance_prefix(number, key) + static_cast<char>(Part::kHead),
           encode_head(**head));
  };
}

TEST_F(DamagedInstance, IsRemovedWithItsHistoryWhenItsHeadHasAnotherId) {
  world.apply(kWaitsThenRests);
  const std::string id = world.must(
      StartInstance{.ns = "default", .workflow = "waits", .idempotency_key = "once"})["id"];
  const std::string sound = world.start("waits")["id"];
  damage(damage_to_id(id));
  EXPECT_EQ(world.must(DeleteInstance{
                .ns = "default", .instance = *parse_instance_id(id), .damaged = true})["deleted"],
            true);
  world.checks_store = true;  // no row of it is left
  world.restart();
  world.publish("go", "go");
  world.run_for(minutes(2));
  EXPECT_EQ(world.instance(sound)["status"], "complete");
  EXPECT_EQ(world.processor().damages().count(), 0U);
}

TEST_F(DamagedInstance, IsRemovedWithoutTheHistoryOfTheInstanceWhoseHeadItHas) {
  world.apply(kWaitsThenRests);
  const std::string one = world.start("waits")["id"];
  const std::string other = world.start("waits")["id"];
  damage([&](Transaction& tx) {
    const std::string head(*tx.get(Table::kLive, part_of(one, Part::kHead)));
    tx.put(Table::kLive, part_of(other, Part::kHead), head);
  });
  const std::vector<std::string> before = world.history(one);
  world.must(
      DeleteInstance{.ns = "default", .instance = *parse_instance_id(other), .damaged = true});
  EXPECT_EQ(world.history(one), before);
}

TEST_F(DamagedInstance, IsRemovedWithItsWorkflowAndItsNamespaceWhenItsHeadHasAnotherId) {
  world.must(CreateNamespace{.name = "shop"});
  world.apply(kWaitsThenRests);
  world.apply(kBoth);
  world.apply(kWaitsThenRests, "shop");
  const std::string one = world.start("waits")["id"];
  const std::string other = world.start("both")["id"];
  const std::string two = world.must(StartInstance{.ns = "shop", .workflow = "waits"})["id"];
  damage([&](Transaction& tx) {
    damage_to_id(one)(tx);
    damage_to_id(two, NamespaceNumber(2))(tx);
  });
  EXPECT_EQ(world.must(DeleteWorkflow{.ns = "default", .id = "waits", .cancel = true}),
            (Json{{"cancelled", 1}}));
  world.must(DeleteNamespace{.name = "shop", .cancel = true});
  world.run_until_idle();
  EXPECT_EQ(world.instance(other)["status"], "waiting");
  world.checks_store = true;
  world.restart();
  EXPECT_EQ(world.processor().damages().count(), 0U);
}

TEST_F(DamagedInstance, IsNotRemovedByTheOptionDamagedIfItIsSound) {
  world.apply(kWaitsThenRests);
  const std::string id = world.start("waits")["id"];
  EXPECT_EQ(world
                .refusal(DeleteInstance{
                    .ns = "default", .instance = *parse_instance_id(id), .damaged = true})
                .code,
            "instance.living");
  EXPECT_EQ(world.instance(id)["status"], "waiting");
}

TEST_F(DamagedInstance, ReturnsAnErrorToItsCallerWhenItIsRemoved) {
  world.apply(kWaitsThenRests);
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
  world.run_until_idle();
  const std::string child = world.instance(caller)["calls"][0]["instance"];
  damage(damage_to_input(child));
  world.must(
      DeleteInstance{.ns = "default", .instance = *parse_instance_id(child), .damaged = true});
  world.run_until_idle();
  EXPECT_EQ(world.instance(caller)["status"], "complete");
  EXPECT_EQ(world.instance(caller)["state"], "caught");
}

TEST_F(DamagedInstance, IsRemovedWithItsWorkflowAndItsNamespace) {
  world.must(CreateNamespace{.name = "shop"});
  world.apply(kWaitsThenRests);
  world.apply(kWaitsThenRests, "shop");
  const std::string one = world.start("waits")["id"];
  world.start("waits");
  const std::string two = world.must(StartInstance{.ns = "shop", .workflow = "waits"})["id"];
  damage([&](Transaction& tx) {
    damage_to_input(one)(tx);
    const std::string key = rows::instance_prefix(NamespaceNumber(2), *parse_instance_id(two));
    tx.put(Table::kLive, key + static_cast<char>(Part::kInput), "{");
  });
  EXPECT_EQ(world.must(DeleteWorkflow{.ns = "default", .id = "waits", .cancel = true}),
            (Json{{"cancelled", 2}}));
  EXPECT_EQ(world.must(DeleteNamespace{.name = "shop", .cancel = true}), (Json{{"cancelled", 1}}));
  world.run_until_idle();
  world.checks_store = true;
  world.restart();
  EXPECT_EQ(world.processor().damages().count(), 0U);
}

TEST_F(DamagedInstance, StopsWhenItsWorkflowIsOfAnotherNamespaceAndBlocksNoDeletion) {
  world.must(CreateNamespace{.name = "shop"});
  world.must(CreateNamespace{.name = "other"});
  world.apply(kWaitsThenRests, "shop");
  world.apply(kWaitsThenRests, "other");
  world.must(StartInstance{.ns = "shop", .workflow = "waits"});
  const std::string id = world.must(StartInstance{.ns = "other", .workflow = "waits"})["id"];
  damage([&](Transaction& tx) {
    auto head = read_live(tx, NamespaceNumber(3), *parse_instance_id(id));
    ASSERT_TRUE(head && *head);
    (*head)->revision.workflow = WorkflowNumber(1);
    write_instance(tx, **head, {});
  });
  EXPECT_THAT(dump_json(world.processor().damages().list()),
              HasSubstr("which is \\\"waits\\\" in namespace \\\"shop\\\""));
  EXPECT_EQ(world.refusal(CancelInstance{"other", *parse_instance_id(id)}).code, kDamagedRow);
  EXPECT_EQ(world.must(DeleteNamespace{.name = "shop", .cancel = true}), (Json{{"cancelled", 1}}));
}

}  // namespace
}  // namespace millrace
