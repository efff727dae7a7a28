// EvaluationsUnderWay: which evaluations are stopped.
#include "orchestrator/loop/evaluations_under_way.h"

#include <gtest/gtest.h>

#include "tests/unit/support/catalog_store.h"

namespace millrace {
namespace {

const InstanceId kFirstAsking = numbered_id(1);
const InstanceId kSecondAsking = numbered_id(2);

TEST(EvaluationsUnderWay, StopsThoseOfAnInstanceThatHasEnded) {
  EvaluationsUnderWay evaluations;
  const std::stop_token one = evaluations.add(kFirstAsking, 3);
  const std::stop_token other = evaluations.add(kSecondAsking, 3);
  EXPECT_TRUE(one.stop_possible());
  evaluations.stop(kFirstAsking);
  EXPECT_TRUE(one.stop_requested());
  EXPECT_FALSE(other.stop_requested());
  EXPECT_EQ(evaluations.size(), 1U);

  const std::stop_token again = evaluations.add(kFirstAsking, 4);
  evaluations.remove(kFirstAsking, 3);  // the result of the stopped one
  evaluations.stop(kFirstAsking);
  EXPECT_TRUE(again.stop_requested()) << "of the next run of the instance";
}

TEST(EvaluationsUnderWay, StopsThoseOfAnEarlierStep) {
  EvaluationsUnderWay evaluations;
  const std::stop_token earlier = evaluations.add(kFirstAsking, 3);
  const std::stop_token later = evaluations.add(kFirstAsking, 4);
  EXPECT_TRUE(earlier.stop_requested());
  EXPECT_FALSE(later.stop_requested());
}

// The instance uses the result that comes first, and both have its step.
TEST(EvaluationsUnderWay, StopsNoneThatAnInstanceAsksForAgainInTheSameStep) {
  EvaluationsUnderWay evaluations;
  const std::stop_token first = evaluations.add(kFirstAsking, 3);
  const std::stop_token second = evaluations.add(kFirstAsking, 3);
  EXPECT_FALSE(first.stop_requested());
  evaluations.remove(kFirstAsking, 3);
  EXPECT_EQ(evaluations.size(), 1U);
  evaluations.stop(kFirstAsking);
  EXPECT_TRUE(second.stop_requested());
}

TEST(EvaluationsUnderWay, ForgetsAnInstanceWhoseResultHasCome) {
  EvaluationsUnderWay evaluations;
  const std::stop_token one = evaluations.add(kFirstAsking, 3);
  evaluations.remove(kFirstAsking, 3);
  EXPECT_EQ(evaluations.size(), 0U);
  evaluations.stop(kFirstAsking);
  evaluations.remove(kSecondAsking, 3);
  EXPECT_FALSE(one.stop_requested());
}

}  // namespace
}  // namespace millrace
