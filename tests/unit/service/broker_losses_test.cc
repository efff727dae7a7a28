// BrokerLosses: the list of the losses of the broker, and the counters of these losses.
#include "orchestrator/service/broker_losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/virtual_clock.h"

namespace millrace {
namespace {

using testing::HasSubstr;

class BrokerLossesTest : public testing::Test {
 protected:
  VirtualClock clock;
  Metrics metrics;
  BrokerLosses losses{clock, metrics};
};

TEST_F(BrokerLossesTest, AreListedWithTheirTimeTheirKindAndADetail) {
  EXPECT_EQ(losses.list(), Json::array());
  losses.add({.kind = BrokerLoss::Kind::kDropped, .first = 3, .last = 8});
  clock.advance(std::chrono::seconds(1));
  losses.add({.kind = BrokerLoss::Kind::kTail, .first = 20, .last = 21});
  losses.add({.kind = BrokerLoss::Kind::kStream, .first = 30, .last = 30});
  const Json list = losses.list();
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0]["time"], "2021-09-01T12:00:00.000Z");
  EXPECT_EQ(list[1]["time"], "2021-09-01T12:00:01.000Z");
  EXPECT_EQ(list[0]["first"], 3);
  EXPECT_EQ(list[0]["last"], 8);
  const std::pair<BrokerLoss::Kind, const char*> rows[] = {
      {BrokerLoss::Kind::kDropped, "dropped messages 3 to 8"},
      {BrokerLoss::Kind::kTail, "messages 20 to 21"},
      {BrokerLoss::Kind::kStream, "after message 30"},
  };
  for (size_t i = 0; i < std::size(rows); ++i) {
    EXPECT_EQ(list[i]["kind"], to_string(rows[i].first));
    EXPECT_THAT(list[i]["detail"].get<std::string>(), HasSubstr(rows[i].second));
  }
}

TEST_F(BrokerLossesTest, AreLimitedToTheNewestOnesAndListedOldestFirst) {
  for (uint64_t i = 1; i <= BrokerLosses::kShown + 4; ++i) {
    losses.add({.kind = BrokerLoss::Kind::kDropped, .first = i, .last = i});
  }
  const Json list = losses.list();
  ASSERT_EQ(list.size(), BrokerLosses::kShown);
  EXPECT_EQ(list.front()["first"], 5);
  EXPECT_EQ(list.back()["first"], BrokerLosses::kShown + 4);
}

TEST_F(BrokerLossesTest, AreAllCountedAlsoBeyondTheLimitOfTheList) {
  for (uint64_t i = 0; i < BrokerLosses::kShown + 4; ++i) {
    losses.add({.kind = BrokerLoss::Kind::kTail, .first = i, .last = i});
  }
  EXPECT_THAT(metrics.text(), HasSubstr("millrace_broker_losses_total{kind=\"tail\"} 20"));
}

}  // namespace
}  // namespace millrace
