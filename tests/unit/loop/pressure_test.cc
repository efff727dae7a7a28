// Pressure: the conditions of backpressure.
#include "orchestrator/loop/pressure.h"

#include <gtest/gtest.h>

#include "orchestrator/store/transaction.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

constexpr Marks kMarks{
    .outbox_bytes = 100, .evaluations = 10, .evaluation_bytes = 1'000, .store_reserve = 4'096};

class PressureTest : public testing::Test {
 protected:
  /// Opens a store with that soft limit.
  void open(uint64_t soft_limit) {
    pressure.reset();
    environment.reset();
    auto opened = Environment::open(folder.path(), {.soft_limit_bytes = soft_limit});
    ASSERT_TRUE(opened) << opened.error().message;
    environment = std::move(*opened);
    pressure.emplace(*environment, kMarks);
  }
  std::string measure(Duration elapsed, uint64_t outbox_bytes = 0, size_t evaluations = 0,
                      uint64_t evaluation_bytes = 0) {
    const auto& cause =
        pressure->measure(elapsed, outbox_bytes, {.count = evaluations, .bytes = evaluation_bytes});
    EXPECT_EQ(pressure->is_on(), cause.has_value());
    return cause ? cause->code : "none";
  }

  Folder folder;
  std::unique_ptr<Environment> environment;
  std::optional<Pressure> pressure;
};

TEST_F(PressureTest, IsOnWhileTooManyMessagesOrEvaluationsWait) {
  open(std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(measure(Duration(0)), "none");
  EXPECT_EQ(measure(Duration(0), 99, 9), "none");
  EXPECT_EQ(measure(Duration(0), 100, 0), "busy");
  EXPECT_EQ(measure(Duration(0), 0, 10), "busy");
  EXPECT_EQ(measure(Duration(0), 0, 1, 1'000), "busy") << "the inputs are in memory";
  EXPECT_EQ(measure(Duration(0), 99, 9, 999), "none");
  EXPECT_FALSE(pressure->store_is_full());
  EXPECT_EQ(pressure->look_again_at(), std::nullopt) << "no later measurement is needed";
}

TEST_F(PressureTest, LimitsWhatWorkWritesOnlyWhileTooManyMessagesWait) {
  open(std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(measure(Duration(0), 99, 10), "busy");
  EXPECT_EQ(pressure->heavy_rate(), 0U) << "evaluations wait, and no messages";
  EXPECT_EQ(measure(Duration(0), 100), "busy");
  EXPECT_EQ(pressure->heavy_rate(), Pressure::kRateWhileMessagesWait);
  EXPECT_EQ(measure(Duration(0), 99), "none");
  EXPECT_EQ(pressure->heavy_rate(), 0U);
}

TEST_F(PressureTest, IsOnWhileTheStoreIsFullAndMeasuresAgainLater) {
  open(std::numeric_limits<uint64_t>::max());
  {
    Transaction tx(*environment);
    tx.put(Table::kMeta, "row", "so that something is used");
    ASSERT_TRUE(tx.commit());
  }
  open(1);
  EXPECT_EQ(measure(Duration(1'000)), "store.full");
  EXPECT_TRUE(pressure->store_is_full());
  EXPECT_EQ(pressure->look_again_at(), Duration(1'000) + Pressure::kMeasureEvery);
  EXPECT_EQ(measure(Duration(1'000), 100), "busy")
      << "`busy` has precedence, because it ends sooner";
  EXPECT_EQ(measure(Duration(1'000)), "store.full");
  EXPECT_EQ(measure(Duration(1'100)), "store.full");
  EXPECT_EQ(pressure->look_again_at(), Duration(1'000) + Pressure::kMeasureEvery)
      << "the store was not measured again";
  EXPECT_EQ(measure(Duration(1'000) + Pressure::kMeasureEvery), "store.full");
  EXPECT_EQ(pressure->look_again_at(), Duration(1'000) + 2 * Pressure::kMeasureEvery);
}

}  // namespace
}  // namespace millrace
