// The size of a store in which instances come and go: the engine leaves no row of a deleted
// instance, and the store stays of one size.
#include <map>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/size/store_figures.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

constexpr const char* kEndsAtOnce = R"(
id: ends
states:
- {id: one, type: noop, transform: jq(.), transition: two}
- id: two
  type: setter
  variables:
  - {key: own, value: jq(.text)}
  - {key: last, scope: workflow, value: jq(.n)}
)";

constexpr const char* kWaitsForGo = R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: go}, timeout: PT1H}
)";

class StoreSizes : public testing::Test {
 protected:
  StoreSizes() {
    world.apply(kEndsAtOnce);
    world.apply(kWaitsForGo);
  }

  /// Starts and ends ten instances of each workflow, and deletes them.
  void run_round() {
    for (int i = 0; i < 10; ++i) {
      const Json input = {{"n", i}, {"text", std::string(1'000, 'x')}};
      const std::string ended = world.start("ends", input, fmt::format("key {}", ++keys))["id"];
      const std::string waiting = world.start("waits", input)["id"];
      world.must(CancelInstance{.ns = "default", .instance = *parse_instance_id(waiting)});
      for (const std::string& id : {ended, waiting}) {
        world.must(DeleteInstance{.ns = "default", .instance = *parse_instance_id(id)});
      }
    }
    world.run_until_idle();
  }
  /// The number of rows in each table.
  std::map<std::string, size_t> row_counts() const {
    std::map<std::string, size_t> counts;
    for (const auto& [key, value] : world.rows()) ++counts[key.substr(0, key.find('/'))];
    return counts;
  }

  World world;
  int keys = 0;
};

TEST_F(StoreSizes, StayTheSameWhileInstancesStartEndAndAreDeleted) {
  for (int round = 0; round < 10; ++round) run_round();
  const auto rows = row_counts();
  const uint64_t bytes = world.stored_bytes();
  for (int round = 0; round < 10; ++round) run_round();
  EXPECT_EQ(row_counts(), rows);
  EXPECT_LE(world.stored_bytes(), bytes);
  const StoreFigures figures = read_figures(world.environment()).value();
  EXPECT_EQ(figures.oldest_ended, std::nullopt);
  ASSERT_TRUE(figures.namespaces);
  const uint64_t definitions = figures.namespaces->at(0).usage.counted_bytes;
  EXPECT_GT(definitions, 0U);
  EXPECT_EQ(figures.namespaces->at(0).usage, Usage{.counted_bytes = definitions})
      << "the namespace has no instance";
}

}  // namespace
}  // namespace millrace
