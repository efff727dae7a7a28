#include "gateway/gateway_budget.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

using Lease = GatewayBudget::Lease;

TEST(GatewayBudget, LetsLeasesGrowUpToItsBound) {
  const auto budget = std::make_shared<GatewayBudget>(10);
  Lease first(budget);
  Lease second(budget);
  EXPECT_TRUE(first.grow_to(6));
  EXPECT_FALSE(second.grow_to(5));
  EXPECT_TRUE(second.grow_to(4));
  EXPECT_TRUE(first.grow_to(3)) << "a lease does not shrink";
  EXPECT_EQ(budget->used(), 10U);
  EXPECT_FALSE(first.grow_to(7));
  EXPECT_EQ(budget->refused(), 2U);
  EXPECT_EQ(budget->used(), 10U) << "a lease that cannot grow keeps what it has";
}

TEST(GatewayBudget, IsFreeAgainWhenItsLeasesEnd) {
  const auto budget = std::make_shared<GatewayBudget>(10);
  {
    Lease lease(budget);
    EXPECT_TRUE(lease.grow_to(10));
    Lease moved(std::move(lease));
    EXPECT_EQ(budget->used(), 10U);
    lease = Lease(budget);
    EXPECT_FALSE(lease.grow_to(1));
    moved.release();
    EXPECT_EQ(budget->used(), 0U);
    EXPECT_TRUE(lease.grow_to(1));
  }
  EXPECT_EQ(budget->used(), 0U);
}

TEST(GatewayBudget, RefusesSizesThatNeverFit) {
  const auto budget = std::make_shared<GatewayBudget>(10);
  Lease lease(budget);
  EXPECT_FALSE(lease.grow_to(UINT64_MAX));
  EXPECT_FALSE(lease.grow_to(11));
  Lease without;
  EXPECT_TRUE(without.grow_to(0));
  EXPECT_FALSE(without.grow_to(1));
}

}  // namespace
}  // namespace millrace
