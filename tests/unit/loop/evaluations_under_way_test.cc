// EvaluationsUnderWay: which evaluations are stopped.
#include "orchestrator/loop/evaluations_under_way.h"

#include <gtest/gtest.h>

#include "tests/unit/support/catalog_store.h"

namespace millrace {
namespace {

const InstanceId kOne = numbered_id(1);
const InstanceId kOther = numbered_id(2);

TEST(EvaluationsUnderWay, StopsThoseOfAnInstanceThatHasEnded) {
  EvaluationsUnderWay evaluations;
  const std::stop_token one = evaluations.add(kOne, 3);
  const std::stop_token other = evaluations.add(kOther, 3);
  EXPECT_TRUE(one.stop_possible());
  evaluations.stop(kOne);
  EXPECT_TRUE(one.stop_requested());
  EXPECT_FALSE(other.stop_requested());
  EXPECT_EQ(evaluations.size(), 1U);

  const std::stop_token again = evaluations.add(kOne, 4);
  evaluations.remove(kOne, 3);  // the result of the stopped one
  evaluations.stop(kOne);
  EXPECT_TRUE(again.stop_requested()) << "of the next run of the instance";
}

TEST(EvaluationsUnderWay, StopsThoseOfAnEarlierStep) {
  EvaluationsUnderWay evaluations;
  const std::stop_token earlier = evaluations.add(kOne, 3);
  const std::stop_token later = evaluations.add(kOne, 4);
  EXPECT_TRUE(earlier.stop_requested());
  EXPECT_FALSE(later.stop_requested());
}

// The instance uses the result that comes first, and both have its step.
TEST(EvaluationsUnderWay, StopsNoneThatAnInstanceAsksForAgainInTheSameStep) {
  EvaluationsUnderWay evaluations;
  const std::stop_token first = evaluations.add(kOne, 3);
  const std::stop_token second = evaluations.add(kOne, 3);
  EXPECT_FALSE(first.stop_requested());
  evaluations.remove(kOne, 3);
  EXPECT_EQ(evaluations.size(), 1U);
  evaluations.stop(kOne);
  EXPECT_TRUE(second.stop_requested());
}

TEST(EvaluationsUnderWay, ForgetsAnInstanceWhoseResultHasCome) {
  EvaluationsUnderWay evaluations;
  const std::stop_token one = evaluations.add(kOne, 3);
  evaluations.remove(kOne, 3);
  EXPECT_EQ(evaluations.size(), 0U);
  evaluations.stop(kOne);
  evaluations.remove(kOther, 3);
  EXPECT_FALSE(one.stop_requested());
}

}  // namespace
}  // namespace millrace
