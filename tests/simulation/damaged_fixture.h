// The fixture of the tests with one damaged row: a world whose store a test changes between two
// processes.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/simulation/world.h"

namespace millrace {

inline constexpr const char* kWaitsThenRests = R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: go}, transition: rest}
- {id: rest, type: delay, duration: PT1M}
)";

inline constexpr const char* kBoth = R"(
id: both
states:
- {id: wait, type: eventAnd, events: [{type: left}, {type: go}]}
)";

inline constexpr const char* kEither = R"(
id: either
states:
- {id: wait, type: eventXor, events: [{event: {type: go}}, {event: {type: tails}}]}
)";

inline std::string part_of(const std::string& instance, Part part) {
  return rows::instance_prefix(NamespaceNumber(1), *parse_instance_id(instance)) +
         static_cast<char>(part);
}

/// A change to the store that replaces the input of an instance by bytes that are not JSON.
inline std::function<void(Transaction& tx)> damage_to_input(const std::string& id) {
  return [id](Transaction& tx) { tx.put(Table::kLive, part_of(id, Part::kInput), "{"); };
}

class Damaged : public testing::Test {
 protected:
  /// Ends the process of the world, changes its store and starts the next process.
  void damage(const std::function<void(Transaction& tx)>& change) {
    world.crash();
    world.checks_store = false;  // the check would find the damage
    world.change_store(change);
    world.recover();
    world.run_until_idle();
  }

  /// Changes the head of a live instance.
  void damage_head(const std::string& id, const std::function<void(Instance& instance)>& change) {
    damage([&](Transaction& tx) {
      auto instance = read_live(tx, NamespaceNumber(1), *parse_instance_id(id));
      ASSERT_TRUE(instance && *instance);
      change(**instance);
      write_instance(tx, **instance, {});
    });
  }

  /// Damages one of two instances that wait for `go`. Expects that the damaged instance stands
  /// still and that the other one ends.
  void expect_only_the_damaged_one_stands_still(
      const char* workflow, const std::string& name,
      const std::function<void(const std::string& id)>& do_damage, const std::string& what) {
    world.apply(workflow);
    const std::string damaged = world.start(name)["id"];
    const std::string other = world.start(name)["id"];
    world.publish("left", "left");
    world.run_until_idle();
    do_damage(damaged);
    world.publish("go", "go");
    world.run_for(std::chrono::minutes(2));
    EXPECT_EQ(world.instance(other)["status"], "complete");
    EXPECT_EQ(world.metric("millrace_instances_damaged_total"), 1);
    EXPECT_GE(world.metric("millrace_damaged_rows"), 1);
    const std::string listed = dump_json(world.processor().damages().list());
    EXPECT_THAT(listed, testing::AllOf(testing::HasSubstr("of table live is damaged"),
                                       testing::HasSubstr(damaged), testing::HasSubstr(what),
                                       testing::HasSubstr("millrace verify")));
    EXPECT_THAT(world.history(other).back(), testing::HasSubstr("ended"));
    // A command about the damaged instance is refused. Other commands are carried out.
    const Answered asked = world.command(CancelInstance{"default", *parse_instance_id(damaged)});
    const Answered started = world.command(StartInstance{.ns = "default", .workflow = name});
    world.run_until_idle();
    ASSERT_TRUE(asked->has_value() && started->has_value());
    EXPECT_EQ((**asked).error().code, kDamagedRow);
    EXPECT_TRUE((**started).has_value());
    world.restart();
    world.run_until_idle();
    EXPECT_EQ(world.instance(other)["status"], "complete");
  }

  World world;
};

}  // namespace millrace
