// Random workflows with limits of their calls, played on a reference model (call_limit_model.h) and
// on the engine side by side, with kills of the process. MILLRACE_CALL_LIMIT_SEEDS=20000 and
// MILLRACE_CALL_LIMIT_FIRST=1 choose other cases: 20 000 seeds from 1 on.
// MILLRACE_CALL_LIMIT_ACTIONS=… sets the number of actions of a seed. With
// MILLRACE_CALL_LIMIT_SEEDS the test continues after a difference, and prints counts of what was
// played.
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/call_limit_case.h"
#include "tests/simulation/call_limit_player.h"
#include "tests/support/seeds.h"

namespace millrace::call_limit_model {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(EngineAndCallLimitModel, AgreeOnRandomCalls) {
  constexpr int kMostReports = 10;
  constexpr uint64_t kSeeds = 200;
  const bool by_hand = std::getenv("MILLRACE_CALL_LIMIT_SEEDS") != nullptr;
  const uint64_t first = number_from_environment("MILLRACE_CALL_LIMIT_FIRST", 1);
  const uint64_t count = number_from_environment("MILLRACE_CALL_LIMIT_SEEDS", kSeeds);
  const auto actions = static_cast<int>(number_from_environment("MILLRACE_CALL_LIMIT_ACTIONS", 40));
  std::map<std::string, int> counts;
  int differing = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const testing::ScopedTrace trace("", 0, "MILLRACE_CALL_LIMIT_FIRST=" + std::to_string(seed));
    CallLimitPlayer player(seed);
    const std::string report = player.play(actions);
    if (!report.empty() && ++differing <= kMostReports) ADD_FAILURE() << report;
    for (const auto& [what, times] : player.counts()) counts[what] += times;
    if (!by_hand && HasFailure()) break;
  }
  EXPECT_GT(counts["time:"], 0) << "nothing was played";
  if (!by_hand) {
    for (const char* const what :
         {"kill", "sleep", "cancel", "pause", "pause-service", "change",
          "instance: failed millrace.concurrency.timeout",
          "instance: failed millrace.throttle.timeout",
          "instance: failed millrace.timeout.scheduleToStart", "instance: failed my.error"}) {
      EXPECT_TRUE(HasFailure() || counts[what] > 0) << what << " was not played";
    }
    return;
  }
  std::cout << count << " seeds, " << differing << " of them differ\n";
  for (const auto& [what, times] : counts) std::cout << "  " << times << "\t" << what << "\n";
}

// A fault of the model is a difference like a fault of the engine.
TEST(EngineAndCallLimitModel, DifferByEachPlantedFault) {
  constexpr uint64_t kMostSeeds = 60;
  const struct {
    Fault fault;
    const char* name;
    uint64_t theme;  ///< as in random_case()
  } faults[] = {{Fault::kOneSlotMore, "a slot too many", 0},
                {Fault::kNoPriority, "no priority", 0},
                {Fault::kNewestFirst, "the newest call first", 0},
                {Fault::kSlotsPerWorkflow, "slots for each workflow", 0},
                {Fault::kDetachedIsFree, "detached calls need no slot", 0},
                {Fault::kUndoingIsFree, "compensations need no slot", 0},
                {Fault::kHoldsBetween, "the slot is held between attempts", 0},
                {Fault::kOneCallMore, "the throttle permits a call too many", 2},
                {Fault::kRetriesCountNot, "retries do not count", 2},
                {Fault::kOvertakes, "a higher limit overtakes", 0},
                {Fault::kPausedBlocks, "a paused call blocks others", 0},
                {Fault::kPauseIsNotHeld, "the time of a wait counts in a pause", 1},
                {Fault::kThrottleHoldsNot, "no slot is held at the throttle", 3}};
  for (const auto& [fault, name, theme] : faults) {
    bool is_found = false;
    for (uint64_t i = 1; i <= kMostSeeds && !is_found; ++i)
      is_found = !CallLimitPlayer(theme + i * kThemes, fault).play(40).empty();
    EXPECT_TRUE(is_found) << name;
  }
}

// The model itself, on the statements of docs/language.md.

class CallLimitModel : public testing::Test {
 protected:
  static Input of(const std::string& order, int rank = 0, const std::string& customer = "c1") {
    return {.order = order, .customer = customer, .rank = rank};
  }
  const TimePoint now = from_millis(1'630'497'600'000);
};

TEST_F(CallLimitModel, GivesASlotByPriorityThenInOrder) {
  Model model({{.service = "bank", .slots = 1, .slot_keyed = true, .priority = true}}, now);
  for (const Input& input : {of("a"), of("b", 1), of("c", 2), of("d", 2), of("e", 0, "c2")}) {
    model.start(0, {input});
  }
  EXPECT_THAT(model.handed_out(), UnorderedElementsAre(Pair("a", 1), Pair("e", 1)));
  model.succeed(0);
  EXPECT_THAT(model.handed_out(), UnorderedElementsAre(Pair("a", 1), Pair("c", 1), Pair("e", 1)));
  EXPECT_EQ(model.held({"bank", "c1"}), 1);
}

TEST_F(CallLimitModel, EndsAWaitAndTriesAgain) {
  Model model({{.service = "bank",
                .slots = 1,
                .slot_timeout = minutes(2),
                .attempts = 2,
                .retry_delay = minutes(1)}},
              now);
  model.start(0, {of("a")});
  model.start(0, {of("b")});
  EXPECT_EQ(model.next_due(), now + minutes(2));
  model.advance(now + minutes(3));
  EXPECT_EQ(model.calls()[1].attempt, 2);
  model.pause(1);
  model.advance(now + minutes(30));
  model.resume(1);
  model.advance(now + minutes(32) - Duration(1));
  EXPECT_EQ(model.status(model.instances()[1]), "waiting");
  model.advance(now + minutes(32));
  EXPECT_EQ(model.status(model.instances()[1]), "failed");
  EXPECT_EQ(model.instances()[1].code, "millrace.concurrency.timeout");
}

TEST_F(CallLimitModel, HoldsTheSlotWhileACallWaitsForTheThrottle) {
  Model model({{.service = "bank", .slots = 2, .rate = 1, .period = minutes(1)}}, now);
  for (const char* const order : {"a", "b", "c"}) model.start(0, {of(order)});
  EXPECT_EQ(model.held({"bank", ""}), 2);
  EXPECT_EQ(model.calls()[1].stage, Stage::kThrottle);
  EXPECT_EQ(model.calls()[2].stage, Stage::kSlot);
  model.succeed(0);
  EXPECT_EQ(model.calls()[2].stage, Stage::kThrottle);
  model.advance(now + minutes(1));
  EXPECT_THAT(model.handed_out(), ElementsAre(Pair("a", 1), Pair("b", 1)));
}

TEST_F(CallLimitModel, LeavesOutTheCallOfAPausedInstance) {
  Model model({{.service = "bank", .slots = 1}, {.service = "bank", .slots = 2}}, now);
  model.start(1, {of("a")});
  model.start(0, {of("b")});
  model.start(1, {of("c")});
  EXPECT_THAT(model.handed_out(), ElementsAre(Pair("a", 1))) << "none overtakes another one";
  model.pause(1);
  EXPECT_THAT(model.handed_out(), ElementsAre(Pair("a", 1), Pair("c", 1)));
}

}  // namespace
}  // namespace millrace::call_limit_model
