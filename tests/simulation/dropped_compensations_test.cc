// Compensations that an instance drops or is deleted with: a part of their rows is erased in the
// commit that drops them, the others later, also after a crash.
#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/compensation_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "tests/simulation/compensated_order.h"
#include "tests/simulation/deleted_namespace.h"
#include "tests/simulation/operator_order.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using testing::SizeIs;

/// Each event `go` notes a compensation. `next` begins another run, and `done` ends the instance.
constexpr const char* kNotes = R"(
id: order
functions:
- {id: undo, type: knative-namespace, service: undo}
states:
- id: wait
  type: eventXor
  compensate: {function: undo, input: 1}
  events:
  - {event: {type: go}, transition: wait}
  - {event: {type: next}, transition: next}
  - {event: {type: done}}
- {id: next, type: noop, continueAsNew: 'jq({})'}
)";

/// More than one commit erases, and few enough for short tests.
constexpr size_t kNoted = 100;

class DroppedCompensationsWorld : public testing::Test {
 protected:
  DroppedCompensationsWorld() : id(world.apply_order(kNotes)) {
    note(kNoted);
    EXPECT_EQ(rows(), kNoted);
  }

  void publish(const std::string& type) { world.publish(type, std::to_string(++last_event)); }
  void note(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      publish("go");
      world.run_until_idle();
    }
  }
  /// The number of rows of compensations.
  size_t rows() const {
    constexpr size_t kSize = std::string_view("ended/").size() + 4 + 16 + 1 + 4;
    const auto all = world.rows();
    return static_cast<size_t>(std::count_if(all.begin(), all.end(), [](const auto& row) {
      const std::string& key = row.first;
      return key.starts_with("ended/") && key.size() == kSize &&
             key[kSize - 5] == static_cast<char>(Part::kCompensation);
    }));
  }
  /// Expects that the first commit has erased the most that it may erase, that the store is sound
  /// then and after a crash, and that the next process erases the others.
  void expect_erased_later() {
    EXPECT_EQ(rows(), kNoted - kErasedCompensations);
    EXPECT_TRUE(is_purging(world));
    world.restart();  // it also checks the store
    EXPECT_EQ(rows(), kNoted - kErasedCompensations);
    world.run_until_idle();
    EXPECT_EQ(rows(), 0U);
    EXPECT_FALSE(is_purging(world));
    world.restart();
  }

  World world;
  int last_event = 0;
  const std::string id;
};

TEST_F(DroppedCompensationsWorld, AreThoseOfAnInstanceThatCompletes) {
  publish("done");
  while (world.status(id) != "complete") ASSERT_TRUE(world.step());
  expect_erased_later();
}

TEST_F(DroppedCompensationsWorld, AreThoseOfAnInstanceThatBeginsItsNextRun) {
  publish("next");
  while (world.instance(id)["run"] != 2) ASSERT_TRUE(world.step());
  expect_erased_later();
  note(3);
  EXPECT_EQ(world.instance(id)["compensation"]["left"], 3);
}

TEST_F(DroppedCompensationsWorld, AreThoseOfAnInstanceThatIsRestarted) {
  world.must(CancelInstance{"default", key(id)});
  EXPECT_EQ(rows(), kNoted) << "they stay with the cancelled instance";
  const Answered restarted = world.command(RestartInstance{"default", key(id)});
  while (!restarted->has_value()) ASSERT_TRUE(world.step());
  EXPECT_FALSE(world.instance(id).contains("compensation"));
  expect_erased_later();
  note(2);
  EXPECT_THAT(world.instance(id)["compensations"], SizeIs(2));
}

TEST_F(DroppedCompensationsWorld, AreThoseOfAnInstanceThatIsDeleted) {
  world.must(CancelInstance{"default", key(id)});
  const Answered deleted = world.command(DeleteInstance{.ns = "default", .instance = key(id)});
  while (!deleted->has_value()) ASSERT_TRUE(world.step());
  expect_erased_later();
  EXPECT_EQ(world.rows_of("ended"), 0U);
}

TEST_F(DroppedCompensationsWorld, LeaveTheirPlacesToThoseThatFollowAtOnce) {
  world.must(CancelInstance{"default", key(id)});
  const Answered restarted = world.command(RestartInstance{"default", key(id)});
  while (!restarted->has_value()) ASSERT_TRUE(world.step());
  world.crash();
  world.recover();
  for (int i = 0; i < 70; ++i) publish("go");
  world.run_until_idle();
  EXPECT_EQ(rows(), 70U);
  world.must(CancelInstance{"default", key(id)});
  EXPECT_EQ(world.instance(id)["compensation"]["left"], 70);
  world.must(CompensateInstance{"default", key(id)});
  EXPECT_EQ(tasks_of(world, "undo").size(), 1U);
  world.restart();
}

}  // namespace
}  // namespace millrace
