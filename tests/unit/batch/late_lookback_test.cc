// Instances::catch_up(): up to which event a state with `lookback` looks back if the instance was
// undecided before it came to the state.
#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/memory/dedupe.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {
namespace {

/// The second state may look back.
std::string patient_for(const std::string& second) {
  return R"(
id: patient
states:
- id: first
  type: consumeEvent
  timeout: PT1H
  event: {type: go, context: {subject: wanted}}
  catch: [{error: direktiv.stateTimeout, transition: second}]
- {id: second, type: consumeEvent, event: )" +
         second + "}\n";
}

class LateLookbackTest : public BatchPartTest {
 protected:
  /// Starts an instance whose first state times out while it is undecided for an event that has the
  /// sequence 7 in the stream. The events before that one were not kept.
  LoadedInstance* time_out_undecided(const std::string& second) {
    const InstanceId id = start(define(patient_for(second)));
    commit_batch();
    now += std::chrono::hours(2);
    const Event go{.id = "1", .source = "/s", .type = "go", .subject = "no"};
    kept_events.keep(*tx, ns, go, fingerprint_of("default", go), {1, 7}, now, now);
    kept_events.undecided().add(id);
    LoadedInstance* const loaded = *instances.load(now, ns, id);
    MatchBudget budget = MatchBudget::unlimited();
    const auto next = instances.catch_up(now, *loaded, kept_events.last(), budget);
    EXPECT_TRUE(next && !*next) << "all is decided";
    return loaded;
  }
};

TEST_F(LateLookbackTest, LooksBackUpToTheEventThatWasUndecided) {
  const LoadedInstance* const loaded = time_out_undecided("{type: then, lookback: PT5H}");
  ASSERT_NE(loaded, nullptr);
  EXPECT_TRUE(loaded->instance.parked) << "the second state waits for its early events";
  EXPECT_EQ(loaded->instance.listen_from, (ListenFrom{.kept = 0, .event = {1, 6}}));
  std::vector<EventPosition> until;
  for (const AfterCommit& action : batch.outcome.actions) {
    if (const auto* const asked = std::get_if<LookBack>(&action)) until.push_back(asked->until);
  }
  EXPECT_THAT(until, testing::ElementsAre(EventPosition{1, 6}));
}

TEST_F(LateLookbackTest, LeavesThePositionOfAnInstanceThatDoesNotLookBack) {
  const LoadedInstance* const loaded = time_out_undecided("{type: then}");
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(loaded->instance.phase, Phase::kWaiting);
  EXPECT_EQ(loaded->instance.state, 1U);
  EXPECT_EQ(loaded->instance.listen_from, ListenFrom());
}

}  // namespace
}  // namespace millrace
