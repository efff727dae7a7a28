// A store of each earlier format is migrated: all its instances continue, the index has all of
// them, and a migration that ends at any commit continues with the next start.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "orchestrator/store/rows/index_rows.h"
#include "tests/simulation/world.h"
#include "tests/support/older_store.h"

namespace millrace {
namespace {

using testing::ElementsAre;

constexpr const char* kKeyedOrder = R"(
id: order
start: {type: event, event: {type: begin}}
states:
- id: wait
  type: consumeEvent
  event: {type: go, context: {key: jq(.begin.key)}}
  timeout: PT1H
)";

constexpr const char* kLeftAndRight = R"(
id: pair
start: {type: eventsAnd, events: [{type: left}, {type: right}]}
states: [{id: done, type: noop}]
)";

class OlderFormats : public testing::TestWithParam<uint64_t> {
 protected:
  OlderFormats() {
    world.apply(kKeyedOrder);
    world.apply(kLeftAndRight);
    for (const char* const key : {"a", "b", "c"}) {
      world.publish("begin", key, {{"key", key}});
      world.run_until_idle();
    }
    world.publish("go", "go-1", nullptr, {{"key", std::string("a")}});
    world.publish("left", "left-1");
    world.run_until_idle();
    world.crash();
    world.change_store([&](Transaction& tx) { make_older(tx, GetParam()); });
  }

  std::vector<std::string> statuses() {
    std::vector<std::string> found;
    for (const Json& one : world.instances()) found.push_back(one.at("status"));
    return found;
  }
  Usage usage() {
    const Snapshot view = Snapshot::take(world.environment()).value();
    return read_usage(view, NamespaceNumber(1)).value();
  }

  World world;
};

TEST_P(OlderFormats, AreMigratedWithAnIndexOfAllInstancesWhichContinue) {
  world.recover();
  EXPECT_THAT(statuses(), ElementsAre("complete", "waiting", "waiting"));
  EXPECT_EQ(usage().live, 2U);
  EXPECT_EQ(usage().ended, 1U);
  EXPECT_GT(usage().history_bytes, 0U);
  EXPECT_GT(usage().counted_bytes, 0U);
  EXPECT_EQ(world.rows_of("by_status"), 3U);
  world.publish("go", "go-2", nullptr, {{"key", std::string("b")}});
  world.publish("right", "right-1");
  world.run_until_idle();
  world.run_for(std::chrono::hours(2));
  EXPECT_THAT(statuses(), ElementsAre("complete", "complete", "failed", "complete"))
      << "the event of before completes the group, and the timeout of before fires";
  EXPECT_EQ(usage().live, 0U);
  EXPECT_EQ(usage().ended, 4U);
}

TEST_P(OlderFormats, ContinueTheirMigrationAfterTheProcessEndedAtAnyCommit) {
  uint64_t commits = 0;
  world.options().store.fails_commit = [&] { return ++commits == 2; };
  uint64_t starts = 0;
  for (bool is_done = false; !is_done; ++starts) {
    ASSERT_LT(starts, 100U) << "the migration does not end";
    commits = 0;
    is_done = world.try_recover().has_value();
  }
  EXPECT_GE(starts, 3U);
  world.crash();
  world.options().store.fails_commit = nullptr;
  world.recover();
  EXPECT_THAT(statuses(), ElementsAre("complete", "waiting", "waiting"));
  EXPECT_EQ(usage().live, 2U);
  EXPECT_EQ(world.rows_of("by_status"), 3U);
}

INSTANTIATE_TEST_SUITE_P(Each, OlderFormats, testing::ValuesIn(kOlderFormats),
                         [](const auto& one) { return "Format" + std::to_string(one.param); });

}  // namespace
}  // namespace millrace
