// A store of each earlier format is migrated: all its instances continue, the index has all of
// them, and a migration that ends at any commit continues with the next start. A store with an
// earlier minor number gets that of this release at the start; one with a later one is refused.
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "orchestrator/check/store_check.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/simulation/rich_store.h"
#include "tests/simulation/world.h"
#include "tests/support/older_store.h"
#include "tests/support/store_check.h"

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

constexpr const char* kPacedOrder = R"(
id: order
functions: [{id: pay, type: service, service: bank, throttle: {limit: 1, period: PT1H}}]
states:
- {id: pay, type: action, action: {function: pay}}
)";

void set_minor(Transaction& tx, uint64_t minor) {
  tx.put(Table::kMeta, "minor", rows::key_of(minor));
}

/// What the store check finds about the minor number.
std::vector<std::string> findings_of_minor(const View& view) {
  std::vector<std::string> found;
  const StoreReport report = check_store(view, test_check_options()).value();
  for (const StoreFinding& finding : report.findings) {
    EXPECT_EQ(kind_of(finding.fault).code, "row.value") << to_string(finding);
    EXPECT_EQ(finding.key, "minor") << to_string(finding);
    found.push_back(finding.found);
  }
  return found;
}

/// The finding about rows that need a minor number, at an earlier one.
std::string needs_minor(uint64_t minor, std::string_view rows, uint64_t needed) {
  return fmt::format("the minor number is {}, but the store has {}, expected at least {}", minor,
                     rows, needed);
}

/// The finding about rows of calls with a throttle, or of their answers, at the earlier minor
/// number.
std::string needs_throttles(std::string_view rows) {
  return needs_minor(kMinorOfCallThrottles - 1, rows, kMinorOfCallThrottles);
}

TEST(OlderMinors, DoNotAllowTheRowsThatCameWithTheLatestOne) {
  const auto environment =
      Environment::open(RichStore::instance().folder(), {.checkpoints_at_close = false}).value();
  Transaction tx(*environment);
  set_minor(tx, kMinorOfCallSlotTimeouts);
  EXPECT_THAT(findings_of_minor(tx), testing::IsEmpty());
  const auto needs_timeouts = [](uint64_t minor) {
    return needs_minor(minor, "timeouts of slots of calls", kMinorOfCallSlotTimeouts);
  };
  set_minor(tx, kMinorOfCallThrottles);
  EXPECT_THAT(findings_of_minor(tx), ElementsAre(needs_timeouts(kMinorOfCallThrottles)));
  set_minor(tx, kMinorOfCallThrottles - 1);
  EXPECT_THAT(findings_of_minor(tx), testing::UnorderedElementsAre(
                                         needs_throttles("counts of calls"),
                                         needs_throttles("rows of calls that wait for a throttle"),
                                         needs_throttles("tasks with a throttle"),
                                         needs_throttles("times of given answers"),
                                         needs_timeouts(kMinorOfCallThrottles - 1)));
  tx.drop();
}

TEST(OlderMinors, AreReplacedAtTheStartAndTheCallsThatWaitContinue) {
  World world;
  world.apply(kPacedOrder);
  for (int i = 0; i < 2; ++i) world.start("order");
  ASSERT_EQ(world.functions.tasks().size(), 1U);
  world.crash();
  world.change_store([&](Transaction& tx) {
    set_minor(tx, kMinorOfCallThrottles - 1);
    EXPECT_THAT(findings_of_minor(tx),
                ElementsAre(needs_throttles("counts of calls"),
                            needs_throttles("rows of calls that wait for a throttle"),
                            needs_throttles("tasks with a throttle")));
  });
  world.recover();
  world.run_until_idle();
  {
    const Snapshot view = Snapshot::take(world.environment()).value();
    EXPECT_EQ(read_minor(view).value(), kStoreMinor);
  }
  EXPECT_EQ(world.functions.tasks().size(), 1U) << "the throttle counts the call of before";
  world.run_for(std::chrono::hours(1));
  EXPECT_EQ(world.functions.tasks().size(), 2U);
}

TEST(LaterMinors, AreRefusedByAServerAndByTheStoreCheck) {
  World world;
  world.apply(kPacedOrder);
  world.start("order");
  world.crash();
  world.change_store([&](Transaction& tx) { set_minor(tx, kStoreMinor + 1); });
  const Status started = world.try_recover();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, "store.version");
  const std::string versions =
      fmt::format("format {0}.{1}, this release reads up to format {0}.{2}", kStoreFormat,
                  kStoreMinor + 1, kStoreMinor);
  EXPECT_THAT(started.error().message, testing::HasSubstr(versions));
  const auto report = check_folder(world.folder(), {}, test_check_options());
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, "store.version");
  EXPECT_THAT(report.error().message, testing::HasSubstr(versions));
  world.change_store([&](Transaction& tx) {
    EXPECT_EQ(read_minor(tx).value(), kStoreMinor + 1) << "a refused start writes nothing";
    set_minor(tx, kStoreMinor);
  });
  world.recover();
}

INSTANTIATE_TEST_SUITE_P(Each, OlderFormats, testing::ValuesIn(kOlderFormats),
                         [](const auto& one) { return "Format" + std::to_string(one.param); });

}  // namespace
}  // namespace millrace
