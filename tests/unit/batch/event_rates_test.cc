// EventRates: which events a namespace may get, what is stored about them, and that a lost batch
// counts for nothing.
#include "orchestrator/batch/event_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/rate_rows.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {
namespace {

class EventRatesTest : public BatchPartTest {
 protected:
  EventRatesTest() { set_settings({{"quotas", {{"eventsPerSecond", 2}}}}); }

  /// How many of `count` events at that time are permitted.
  int permitted(int count, TimePoint at) {
    int taken = 0;
    for (int i = 0; i < count; ++i) {
      const auto over = rates.take(ns, 2, at);
      EXPECT_TRUE(over) << over.error().message;
      if (over && !*over) ++taken;
    }
    return taken;
  }
  void commit_rates() {
    rates.write();
    commit();
    batches.begin();
  }

  EventRates rates{batch};
};

TEST_F(EventRatesTest, PermitTheEventsOfTwoSecondsAtOnceAndThenTheRate) {
  EXPECT_EQ(permitted(10, now), 4);
  EXPECT_EQ(batch.outcome.counts.over_quota[ns][static_cast<size_t>(Quota::kEventsPerSecond)], 6U);
  EXPECT_EQ(permitted(10, now + Duration(500)), 1);
  EXPECT_EQ(permitted(10, now + std::chrono::hours(1)), 4);
}

TEST_F(EventRatesTest, ContinueFromTheStore) {
  EXPECT_EQ(permitted(3, now), 3);
  commit_rates();
  EventRates next{batch};
  const auto first = next.take(ns, 2, now);
  ASSERT_TRUE(first);
  EXPECT_FALSE(*first);
  const auto second = next.take(ns, 2, now);
  ASSERT_TRUE(second && *second);
  EXPECT_EQ((*second)->code, "millrace.quota.eventsPerSecond");
}

TEST_F(EventRatesTest, WriteOnlyWhatHasChanged) {
  permitted(1, now);
  commit_rates();
  const auto before = rows();
  permitted(0, now);
  rates.write();
  EXPECT_TRUE(tx->write_set().empty());
  EXPECT_EQ(rows(), before);
}

TEST_F(EventRatesTest, ForgetTheEventsOfALostBatch) {
  EXPECT_EQ(permitted(2, now), 2);
  commit_rates();
  EXPECT_EQ(permitted(2, now), 2);
  rates.write();
  tx->drop();
  rates.undo();
  batches.begin();
  EXPECT_EQ(permitted(3, now), 2) << "the lost batch counts for nothing";
  commit_rates();
  const auto stored = read_rate_use(*tx, ns);
  ASSERT_TRUE(stored && *stored);
  EXPECT_EQ((*stored)->used, 4'000U);
}

TEST_F(EventRatesTest, KeepUnwrittenEventsOfEarlierBatchesWhenABatchIsLost) {
  EXPECT_EQ(permitted(1, now), 1);
  batches.begin();  // the batch before had no effect, so its cursor is not written yet
  EXPECT_EQ(permitted(1, now), 1);
  rates.write();
  tx->drop();
  rates.undo();
  batches.begin();
  commit_rates();
  const auto stored = read_rate_use(*tx, ns);
  ASSERT_TRUE(stored && *stored);
  EXPECT_EQ((*stored)->used, 1'000U);
}

TEST_F(EventRatesTest, TakeADamagedRowForNoUse) {
  permitted(4, now);
  commit_rates();
  tx->put(Table::kMeta, std::string("rate/\0\0\0\1", 9), "rubbish");
  commit();
  EventRates next{batch};
  const auto over = next.take(ns, 2, now);
  ASSERT_TRUE(over);
  EXPECT_FALSE(*over);
  EXPECT_EQ(damages.count(), 1U);
}

TEST_F(EventRatesTest, WriteNothingForADeletedNamespace) {
  permitted(1, now);
  catalog.remove_namespace(*tx, ns);
  commit();
  rates.write();
  EXPECT_TRUE(tx->write_set().empty());
}

}  // namespace
}  // namespace millrace
