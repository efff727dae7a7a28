// The consumers of sources that stay at the broker: which ones the rows name, and when they are
// deleted.
#include "orchestrator/service/source_consumers.h"

#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/service/local_service_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const SourcePlace kOrders{.ns = NamespaceNumber(1), .name = "orders"};
const SourcePlace kBills{.ns = NamespaceNumber(1), .name = "bills"};
const SourceConsumer kOfOrders{.stream = "ORDERS", .name = "millrace-default-orders-07000000"};
const SourceConsumer kOfBills{.stream = "BILLS", .name = "millrace-default-bills-07000000"};

class SourceConsumersTest : public LocalServiceTest {
 protected:
  SourceConsumersTest() {
    for (const SourceConsumer& one : {kOfOrders, kOfBills}) {
      origins.streams[one.stream].keeps_messages = false;
      origins.streams[one.stream].kept.insert(one.name);
    }
  }
  /// Applies the source `orders`; which stream `settings` name does not matter.
  void apply(const std::string& settings, bool paused = false) {
    ApplySource command{.ns = "default", .name = "orders", .record = {}, .paused = paused};
    command.record.origin = {.source = {7}, .created = 1'000};
    command.record.stream = "ORDERS";
    command.record.begin = R"("all")";
    command.record.settings = settings;
    world.must(command);
  }
  SourcesLook look() {
    const Snapshot view = Snapshot::take(world.environment()).value();
    return look_at_sources(view).value();
  }
  const std::set<std::string>& kept(const std::string& stream) {
    return origins.streams[stream].kept;
  }

  SourceConsumers consumers_;
};

constexpr const char* kConsumes = R"({"begin":"all","stream":"ORDERS","consume":true})";

TEST_F(SourceConsumersTest, AreThoseOfSourcesThatConsumeTheirStreams) {
  EXPECT_THAT(look().consumers, IsEmpty());
  apply(kConsumes);
  EXPECT_THAT(look().consumers, ElementsAre(Pair(kOrders, kOfOrders)));
  EXPECT_THAT(look().read, ElementsAre(Pair(kOrders, "default")));
  EXPECT_TRUE(look().is_whole);
  apply(kConsumes, true);
  EXPECT_THAT(look().consumers, ElementsAre(Pair(kOrders, kOfOrders))) << "a pause keeps it";
  EXPECT_THAT(look().read, IsEmpty());
  apply(R"({"begin":"all","stream":"ORDERS"})");
  EXPECT_THAT(look().consumers, IsEmpty());
}

TEST_F(SourceConsumersTest, AreNotKnownWhileARowCannotBeRead) {
  apply("{");
  EXPECT_FALSE(look().is_whole);
  EXPECT_THAT(look().read, ElementsAre(Pair(kOrders, "default")));
}

TEST_F(SourceConsumersTest, AreDeletedWhenNoSourceHasThem) {
  EXPECT_THAT(consumers_.update({{kOrders, kOfOrders}, {kBills, kOfBills}}), IsEmpty());
  consumers_.release(origins);
  EXPECT_THAT(kept("ORDERS"), ElementsAre(kOfOrders.name));
  EXPECT_THAT(consumers_.update({{kBills, kOfBills}}), ElementsAre(kOrders));
  EXPECT_THAT(kept("ORDERS"), ElementsAre(kOfOrders.name)) << "its reader ends before";
  consumers_.release(origins);
  EXPECT_THAT(kept("ORDERS"), IsEmpty());
  EXPECT_THAT(kept("BILLS"), ElementsAre(kOfBills.name));
}

TEST_F(SourceConsumersTest, AreDeletedLaterIfTheBrokerIsNotReachableNow) {
  consumers_.update({{kOrders, kOfOrders}});
  consumers_.update({});
  origins.failure = Error{"broker.unreachable", "no connection"};
  consumers_.release(origins);
  EXPECT_THAT(kept("ORDERS"), ElementsAre(kOfOrders.name));
  origins.failure.reset();
  consumers_.release(origins);
  EXPECT_THAT(kept("ORDERS"), IsEmpty());
}

TEST_F(SourceConsumersTest, AreNotDeletedIfTheSourceHasThemAgain) {
  consumers_.update({{kOrders, kOfOrders}});
  const SourceConsumer other{.stream = "BILLS", .name = kOfOrders.name};
  EXPECT_THAT(consumers_.update({{kOrders, other}}), ElementsAre(kOrders));
  EXPECT_THAT(consumers_.update({{kOrders, kOfOrders}}), ElementsAre(kOrders));
  consumers_.release(origins);
  EXPECT_THAT(kept("ORDERS"), ElementsAre(kOfOrders.name));
}

}  // namespace
}  // namespace millrace
