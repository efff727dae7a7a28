// An instance whose rows are damaged stands still; the others go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/tables.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

constexpr const char* kWaits = R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)";

TEST(DamagedInstance, IsPassedOverAndKeepsNobodyFromGoingOn) {
  World world;
  world.apply(kWaits);
  const std::string damaged = world.start("waits")["id"];
  const std::string other = world.start("waits")["id"];
  world.crash();
  world.checks_store = false;  // which finds the damage
  world.change_store([&](Transaction& tx) {
    auto instance = read_living(tx, NamespaceNumber(1), *parse_instance_id(damaged));
    ASSERT_TRUE(instance && *instance);
    (*instance)->state = 99;
    write_instance(tx, **instance, {});
  });
  world.recover();
  world.publish("go", "1");
  world.settle();
  EXPECT_EQ(world.instance(other)["status"], "complete");
  EXPECT_EQ(world.metric("millrace_instances_damaged_total"), 1);
  world.restart();
  world.settle();
  EXPECT_EQ(world.instance(other)["status"], "complete");
}

}  // namespace
}  // namespace millrace
