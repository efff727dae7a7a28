// How the evaluations of each namespace are counted.
#include "expressions/workers/evaluation_loads.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using enum EvaluationLoads::Place;

TEST(EvaluationLoads, CountAnEvaluationInTheNewestOfItsPlaces) {
  EvaluationLoads loads;
  EvaluationLoads::Counted one(loads, 1);
  EXPECT_THAT(loads.now(), ElementsAre(Pair(1, PoolLoad{.fast_waiting = 1})));
  one.move_to(kFastRunning);
  EXPECT_THAT(loads.now(), ElementsAre(Pair(1, PoolLoad{.fast_running = 1})));
  one.move_to(kSlowWaiting);
  EXPECT_THAT(loads.now(), ElementsAre(Pair(1, PoolLoad{.slow_waiting = 1})));
  one.move_to(kSlowRunning);
  one.move_to(kSlowRunning);
  EXPECT_THAT(loads.now(), ElementsAre(Pair(1, PoolLoad{.slow_running = 1})));
  one.end();
  one.end();
  one.move_to(kFastRunning);
  EXPECT_THAT(loads.now(), IsEmpty()) << "it has ended";
}

TEST(EvaluationLoads, CountEachNamespaceByItself) {
  EvaluationLoads loads;
  const EvaluationLoads::Counted first(loads, 1);
  const EvaluationLoads::Counted second(loads, 1);
  std::optional<EvaluationLoads::Counted> other(std::in_place, loads, 2);
  EXPECT_THAT(loads.now(), ElementsAre(Pair(1, PoolLoad{.fast_waiting = 2}),
                                       Pair(2, PoolLoad{.fast_waiting = 1})));
  other.reset();
  EXPECT_THAT(loads.now(), ElementsAre(Pair(1, PoolLoad{.fast_waiting = 2})));
}

TEST(EvaluationLoads, CountAnEvaluationOnceWhenItsJobMoves) {
  EvaluationLoads loads;
  EvaluationLoads::Counted one(loads, 1);
  EvaluationLoads::Counted moved = std::move(one);
  EvaluationLoads::Counted other(loads, 2);
  EXPECT_EQ(loads.now().size(), 2U);
  other = std::move(moved);
  EXPECT_THAT(loads.now(), ElementsAre(Pair(1, PoolLoad{.fast_waiting = 1})))
      << "the one that was in its place is not counted any more";
  other = {};
  EXPECT_THAT(loads.now(), IsEmpty());
}

}  // namespace
}  // namespace millrace
