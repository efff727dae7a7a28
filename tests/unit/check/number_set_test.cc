#include "orchestrator/check/number_set.h"

#include <limits>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(NumberSetTest, ReportsWhetherANumberIsNew) {
  NumberSet set;
  EXPECT_FALSE(set.contains(7));
  EXPECT_TRUE(set.insert(7));
  EXPECT_TRUE(set.contains(7));
  EXPECT_FALSE(set.insert(7));
  EXPECT_FALSE(set.contains(8));
  EXPECT_TRUE(set.insert(8));
}

TEST(NumberSetTest, DistinguishesNumbersAtTheEdgesOfItsPages) {
  NumberSet set;
  for (const uint64_t number : {uint64_t{0}, uint64_t{4095}, uint64_t{4096}, uint64_t{8192},
                                std::numeric_limits<uint64_t>::max()}) {
    EXPECT_FALSE(set.contains(number)) << number;
    EXPECT_TRUE(set.insert(number)) << number;
    EXPECT_FALSE(set.insert(number)) << number;
  }
  EXPECT_FALSE(set.contains(1));
  EXPECT_FALSE(set.contains(4097));
  EXPECT_FALSE(set.contains(std::numeric_limits<uint64_t>::max() - 1));
}

TEST(NumberSetTest, AnswersLikeStdSetForRandomNumbers) {
  std::mt19937_64 random(1);
  NumberSet set;
  std::set<uint64_t> expected;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t number = random() % 10 == 0 ? random() : random() % 20'000;
    EXPECT_EQ(set.contains(number), expected.contains(number));
    EXPECT_EQ(set.insert(number), expected.insert(number).second);
  }
}

}  // namespace
}  // namespace millrace
