// CheckpointRate: the bytes a second of finished checkpoints, without small ones, and with more
// weight for later ones. The environment measures each checkpoint from its begin to its end.
#include "orchestrator/store/disk/checkpoint_rate.h"

#include <chrono>
#include <memory>

#include <gtest/gtest.h>

#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/transaction.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint64_t kFull = 16'000;  ///< bytes of a full checkpoint

TEST(CheckpointRate, IsMissingBeforeTheFirstCheckpoint) {
  CheckpointRate rate(kFull);
  EXPECT_EQ(rate.get(), std::nullopt);
  rate.add(kFull, seconds(2));
  EXPECT_EQ(rate.get(), 8'000U);
}

TEST(CheckpointRate, IgnoresCheckpointsOfFewBytesAndThoseThatTookNoTime) {
  CheckpointRate rate(kFull);
  rate.add(999, seconds(1));
  rate.add(kFull, seconds(0));
  EXPECT_EQ(rate.get(), std::nullopt);
  rate.add(1'000, milliseconds(125));
  EXPECT_EQ(rate.get(), 8'000U);
  rate.add(0, seconds(100));
  EXPECT_EQ(rate.get(), 8'000U);
}

TEST(CheckpointRate, GivesACheckpointHalfOfItsWeightAfterTwoFullOnes) {
  CheckpointRate rate(kFull);
  rate.add(2 * kFull, seconds(8));
  EXPECT_EQ(rate.get(), 4'000U);
  rate.add(2 * kFull, seconds(2));
  EXPECT_EQ(rate.get(), 8'000U) << "(16 000 + 32 000) bytes in (4 + 2) seconds";
}

TEST(CheckpointRate, ForgetsOneSlowCheckpoint) {
  CheckpointRate rate(kFull);
  rate.add(kFull, seconds(1'000));
  for (int i = 0; i < 40; ++i) rate.add(kFull, seconds(1));
  ASSERT_TRUE(rate.get());
  EXPECT_GT(*rate.get(), 15'000U);
  EXPECT_LE(*rate.get(), 16'000U);
}

TEST(CheckpointRate, IsAtLeastOneByteASecondOnceItIsMeasured) {
  CheckpointRate rate(kFull);
  rate.add(kFull, seconds(1'000'000));
  EXPECT_EQ(rate.get(), 1U);
}

TEST(CheckpointRate, IsMeasuredByTheEnvironmentWithoutTheTimeBetweenCheckpoints) {
  const Folder folder;
  // Each look at the clock is a second after the one before. A checkpoint looks at its begin and at
  // its end.
  auto looks = std::make_shared<int>(0);
  const auto environment =
      Environment::open(folder.path(), {.checkpoint_bytes = kFull,
                                        .checkpoint_clock = [looks] { return seconds(++*looks); }})
          .value();
  EXPECT_EQ(environment->checkpoint_rate(), std::nullopt);
  Transaction transaction(*environment);
  transaction.put(Table::kLive, "a", std::string(3'000, 'x'));
  ASSERT_TRUE(transaction.commit());
  transaction.put(Table::kLive, "a", std::string(4'000, 'x'));
  ASSERT_TRUE(transaction.commit());
  ASSERT_TRUE(environment->checkpoint());
  ASSERT_TRUE(environment->checkpoint_rate());
  // Both versions of the row were committed; a key has a byte for its table.
  EXPECT_EQ(*environment->checkpoint_rate(), 7'004U);
  ASSERT_TRUE(environment->checkpoint());
  EXPECT_EQ(*looks, 2) << "without rows there is no checkpoint";
}

TEST(CheckpointRate, IsMissingIfCommitsWaitForCheckpoints) {
  const Folder folder;
  const auto environment =
      Environment::open(folder.path(), {.checkpoint_bytes = kFull, .waits_for_checkpoints = true})
          .value();
  Transaction transaction(*environment);
  transaction.put(Table::kLive, "a", std::string(3'000, 'x'));
  ASSERT_TRUE(transaction.commit());
  ASSERT_TRUE(environment->checkpoint());
  EXPECT_EQ(environment->checkpoint_rate(), std::nullopt);
}

}  // namespace
}  // namespace millrace
