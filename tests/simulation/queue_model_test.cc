// Random definitions of queues and limits of starts, played on the reference model
// (queue_model.h) and on the engine side by side, with kills of the process and takeovers.
// MILLRACE_QUEUE_SEEDS=2000 and MILLRACE_QUEUE_FIRST=1 choose other cases: 2000 seeds from 1 on.
// MILLRACE_QUEUE_ACTIONS=… sets the number of actions of a seed. With MILLRACE_QUEUE_SEEDS the test
// continues after a difference, and prints counts of what was played.
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/queue_definition.h"
#include "tests/simulation/queue_player.h"
#include "tests/support/seeds.h"

namespace millrace::queue_model {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

TEST(EngineAndQueueModel, AgreeOnRandomStarts) {
  constexpr int kMostReports = 10;
  const bool by_hand = std::getenv("MILLRACE_QUEUE_SEEDS") != nullptr;
  const uint64_t first = number_from_environment("MILLRACE_QUEUE_FIRST", 1);
  const uint64_t count = number_from_environment("MILLRACE_QUEUE_SEEDS", kThemes);
  const auto actions = static_cast<int>(number_from_environment("MILLRACE_QUEUE_ACTIONS", 40));
  std::map<std::string, int> counts;
  int differing = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const testing::ScopedTrace trace("", 0, "MILLRACE_QUEUE_FIRST=" + std::to_string(seed));
    QueuePlayer player(seed);
    const std::string report = player.play(actions);
    if (!report.empty() && ++differing <= kMostReports) ADD_FAILURE() << report;
    for (const auto& [what, times] : player.counts()) counts[what] += times;
    if (!by_hand && HasFailure()) break;
  }
  EXPECT_GT(counts["time:"], 0) << "nothing was played";
  if (!by_hand) {
    EXPECT_TRUE(HasFailure() || counts["takeover"] > 0) << "no node has taken over";
    return;
  }
  std::cout << count << " seeds, " << differing << " of them differ\n";
  for (const auto& [what, times] : counts) std::cout << "  " << times << "\t" << what << "\n";
}

// A fault of the model is a difference like a fault of the engine.
TEST(EngineAndQueueModel, DifferByEachPlantedFault) {
  constexpr uint64_t kMostSeeds = 40;
  const struct {
    Fault fault;
    const char* name;
    uint64_t theme;  ///< as in random_definition()
  } faults[] = {{Fault::kOneSlotMore, "a slot too many", 0},
                {Fault::kNoPriority, "no priority", 0},
                {Fault::kNewestFirst, "the newest start first", 0},
                {Fault::kForgetsAfterCancel, "no start after a cancel", 0},
                {Fault::kFirstInputCounts, "the first input counts", 4},
                {Fault::kRefusalsCount, "refusals count", 5},
                {Fault::kOneStartMore, "the throttle permits a start too many", 8},
                {Fault::kCountsWhileItWaits, "a start counts while it waits", 8},
                {Fault::kOneInputMore, "a batch has an input too many", 9},
                {Fault::kTimeoutMoves, "an input moves the time of its batch", 9}};
  for (const auto& [fault, name, theme] : faults) {
    bool is_found = false;
    for (uint64_t i = 1; i <= kMostSeeds && !is_found; ++i)
      is_found = !QueuePlayer(theme + i * kThemes, fault).play(40).empty();
    EXPECT_TRUE(is_found) << name;
  }
}

// The model itself, on the examples of docs/language.md.

class QueueModel : public testing::Test {
 protected:
  static Start of(const std::string& order, int rank = 0, const std::string& customer = "c1") {
    return {.order = order, .customer = customer, .rank = rank};
  }
  std::vector<std::string> shown(const Model& model) const {
    std::vector<std::string> all;
    for (size_t i = 0; i < model.instances().size(); ++i)
      all.push_back(model.instances()[i].start.order + " " + model.status(i));
    return all;
  }

  const TimePoint now = from_millis(1'630'497'600'000);
};

TEST_F(QueueModel, GivesAFreeSlotByPriorityThenByPlace) {
  Model model({.limit = 1, .keyed = true, .priority = true}, now);
  for (const Start& start : {of("a"), of("b", 1), of("c", 2), of("d", 2), of("e", 0, "c2")})
    model.request(start);
  EXPECT_THAT(shown(model),
              ElementsAre("a waiting", "b pending", "c pending", "d pending", "e waiting"));
  model.go("c");
  model.go("a");
  EXPECT_THAT(shown(model),
              ElementsAre("a complete", "b pending", "c waiting", "d pending", "e waiting"));
  model.cancel(2);
  EXPECT_EQ(model.status(3), "waiting");
}

TEST_F(QueueModel, HoldsTheTimeInTheQueueWhileItIsPaused) {
  Model model({.limit = 1, .queue_timeout = minutes(10)}, now);
  model.request(of("a"));
  model.request(of("b"));
  model.advance(now + minutes(9));
  model.pause(1);
  model.advance(now + minutes(60));
  EXPECT_EQ(model.status(1), "paused");
  model.resume(1);
  model.advance(now + minutes(70) - Duration(1));
  EXPECT_EQ(model.status(1), "pending");
  model.advance(now + minutes(70));
  EXPECT_EQ(model.status(1), "failed");
  EXPECT_EQ(model.instances()[1].code, "millrace.concurrency.timeout");
}

TEST_F(QueueModel, ReplacesTheOldestHolder) {
  Model model({.limit = 2, .on_limit = OnLimit::kReplace}, now);
  for (const char* const order : {"a", "b", "c"}) model.request(of(order));
  EXPECT_THAT(shown(model), ElementsAre("a cancelled", "b waiting", "c waiting"));
  EXPECT_EQ(model.instances()[0].code, "millrace.concurrency.replaced");
}

TEST_F(QueueModel, PutsOffAStartUntilItsKeyIsQuietOrTheTimeoutEnds) {
  Model model({.debounce_period = seconds(10), .debounce_timeout = seconds(25)}, now);
  for (int i = 0; i < 4; ++i) {
    model.request(of(std::to_string(i)));
    model.advance(now + seconds(8 * (i + 1)));
  }
  EXPECT_THAT(shown(model), ElementsAre("3 waiting"));
  EXPECT_EQ(model.instances()[0].began, now + seconds(25));
}

TEST_F(QueueModel, CountsTheStartsOfAnyPeriod) {
  Model model({.rate_limit = 2, .rate_period = minutes(60)}, now);
  EXPECT_THAT(model.request(of("a")).refused, ElementsAre());
  model.advance(now + minutes(20));
  EXPECT_THAT(model.request(of("b")).refused, ElementsAre());
  model.advance(now + minutes(20) + Duration(500));
  const Answer refused = model.request(of("c"));
  EXPECT_THAT(refused.refused, UnorderedElementsAre("millrace.rateLimit"));
  EXPECT_EQ(refused.retry_after, 2'400U);
  model.advance(now + minutes(60));
  EXPECT_THAT(model.request(of("d")).refused, ElementsAre());
}

TEST_F(QueueModel, LetsAStartWaitUntilTheThrottlePermitsIt) {
  Model model({.throttle_limit = 2, .throttle_period = minutes(1)}, now);
  model.request(of("a"));
  model.advance(now + seconds(40));
  for (const char* const order : {"b", "c", "d"}) model.request(of(order));
  EXPECT_THAT(shown(model), ElementsAre("a waiting", "b waiting", "c pending", "d pending"));
  EXPECT_EQ(model.next_due(), now + minutes(1));
  model.advance(now + seconds(60));
  EXPECT_THAT(shown(model), ElementsAre("a waiting", "b waiting", "c waiting", "d pending"));
  model.advance(now + seconds(99));
  EXPECT_EQ(model.status(3), "pending");
  model.advance(now + seconds(100));
  EXPECT_EQ(model.status(3), "waiting");
}

TEST_F(QueueModel, LetsOthersPassAPausedStartAtTheThrottle) {
  Model model({.throttle_limit = 1, .throttle_period = minutes(1)}, now);
  for (const char* const order : {"a", "b", "c", "d"}) model.request(of(order));
  model.pause(1);
  model.advance(now + minutes(1));
  EXPECT_THAT(shown(model), ElementsAre("a waiting", "b paused", "c waiting", "d pending"));
  model.resume(1);
  model.advance(now + minutes(2));
  EXPECT_THAT(shown(model), ElementsAre("a waiting", "b waiting", "c waiting", "d pending"));
}

TEST_F(QueueModel, GivesASlotBeforeItAsksTheThrottle) {
  Model model({.limit = 1, .throttle_limit = 1, .throttle_period = minutes(1)}, now);
  for (const char* const order : {"a", "b", "c"}) model.request(of(order));
  model.go("a");
  EXPECT_THAT(shown(model), ElementsAre("a complete", "b pending", "c pending"));
  EXPECT_EQ(model.held(""), 1) << "the second holds the slot";
  model.cancel(1);
  EXPECT_EQ(model.held(""), 1) << "the third has it";
  model.advance(now + minutes(1));
  EXPECT_EQ(model.status(2), "waiting");
}

TEST_F(QueueModel, StartsABatchWhenItIsFullOrItsTimeoutEnds) {
  Model model({.batch_size = 3, .batch_timeout = minutes(5), .batch_keyed = true}, now);
  for (const Start& start : {of("a"), of("b", 0, "c2"), of("c")}) model.request(start);
  model.advance(now + minutes(4));
  EXPECT_THAT(shown(model), ElementsAre());
  const Answer full = model.request(of("d"));
  EXPECT_EQ(full.starts_at, now + minutes(4));
  EXPECT_THAT(shown(model), ElementsAre("a+c+d waiting"));
  const Answer next = model.request(of("e", 0, "c2"));
  EXPECT_EQ(next.starts_at, now + minutes(5));
  model.advance(now + minutes(5));
  EXPECT_THAT(shown(model), ElementsAre("a+c+d waiting", "b+e waiting"));
  model.go("b");
  EXPECT_EQ(model.status(1), "complete");
}

TEST_F(QueueModel, CollectsOnWhileASingularWorkflowHasAnInstance) {
  Model model({.singular = true, .batch_size = 2, .batch_timeout = minutes(1)}, now);
  for (const char* const order : {"a", "b", "c"}) model.request(of(order));
  EXPECT_THAT(shown(model), ElementsAre("a+b waiting"));
  model.advance(now + minutes(1) + seconds(5));
  EXPECT_EQ(model.request(of("d")).starts_at, model.now()) << "a full batch is tried at once";
  model.request(of("e"));
  model.go("a");
  model.advance(now + minutes(1) + seconds(15));
  EXPECT_THAT(shown(model), ElementsAre("a+b complete", "c+d waiting"));
}

}  // namespace
}  // namespace millrace::queue_model
