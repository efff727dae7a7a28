// The consumers of sources that stay at the broker: which ones the rows name, and when they are
// deleted.
#include "orchestrator/service/source_consumers.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/service/local_service_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const SourcePlace kOrders{.ns = NamespaceNumber(1), .name = "orders"};
const SourceConsumer kOfOrders{
    .source = {7}, .stream = "ORDERS", .name = "millrace-default-orders-07000000"};
const SourceConsumer kOfBills{
    .source = {9}, .stream = "BILLS", .name = "millrace-default-bills-09000000"};

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
  EXPECT_THAT(look().read, IsEmpty());
  apply(kConsumes);
  ASSERT_THAT(look().read, SizeIs(1));
  EXPECT_EQ(look().read.at(kOrders).ns, "default");
  EXPECT_EQ(look().read.at(kOrders).consumer, kOfOrders);
  apply(kConsumes, true);
  EXPECT_THAT(look().read, IsEmpty());
  EXPECT_THAT(look().left, IsEmpty()) << "a pause keeps it";
  apply(R"({"begin":"all","stream":"ORDERS"})");
  EXPECT_EQ(look().read.at(kOrders).consumer, std::nullopt);
  EXPECT_THAT(look().left, ElementsAre(kOfOrders));
}

TEST_F(SourceConsumersTest, AreNotKnownIfTheSettingsCannotBeRead) {
  apply("{");
  EXPECT_EQ(look().read.at(kOrders).consumer, std::nullopt);
  world.must(DeleteSource{.ns = "default", .name = "orders"});
  EXPECT_THAT(look().left, IsEmpty());
}

TEST_F(SourceConsumersTest, AreDeletedWhenNoSourceHasThem) {
  apply(kConsumes);
  EXPECT_THAT(consumers_.release(look().left, origins), IsEmpty());
  EXPECT_THAT(kept("ORDERS"), ElementsAre(kOfOrders.name));
  world.must(DeleteSource{.ns = "default", .name = "orders"});
  EXPECT_THAT(consumers_.release(look().left, origins), ElementsAre(kOfOrders));
  EXPECT_THAT(kept("ORDERS"), IsEmpty());
  EXPECT_THAT(kept("BILLS"), ElementsAre(kOfBills.name));
}

TEST_F(SourceConsumersTest, AreDeletedLaterIfTheBrokerIsNotReachableNow) {
  origins.failure = Error{"broker.unreachable", "no connection"};
  EXPECT_THAT(consumers_.release({kOfOrders}, origins), IsEmpty());
  EXPECT_THAT(kept("ORDERS"), ElementsAre(kOfOrders.name));
  origins.failure.reset();
  EXPECT_THAT(consumers_.release({kOfOrders}, origins), ElementsAre(kOfOrders));
  EXPECT_THAT(kept("ORDERS"), IsEmpty());
}

TEST_F(SourceConsumersTest, DoNotWaitForOneThatCannotBeDeleted) {
  const std::vector<SourceConsumer> left = {kOfOrders, kOfBills};
  origins.held_consumer = kOfOrders.name;
  EXPECT_THAT(consumers_.release(left, origins), IsEmpty());
  EXPECT_THAT(consumers_.release(left, origins), ElementsAre(kOfBills));
  EXPECT_THAT(kept("BILLS"), IsEmpty());
  EXPECT_THAT(kept("ORDERS"), ElementsAre(kOfOrders.name));
  origins.held_consumer.clear();
  EXPECT_THAT(consumers_.release({kOfOrders}, origins), ElementsAre(kOfOrders));
}

TEST_F(SourceConsumersTest, AreDeletedByTheNextProcessIfThisOneIsKilledBefore) {
  apply(kConsumes);
  world.must(DeleteSource{.ns = "default", .name = "orders"});
  restart_with([](Transaction&) {});
  EXPECT_THAT(look().left, ElementsAre(kOfOrders));
  EXPECT_THAT(consumers_.release(look().left, origins), ElementsAre(kOfOrders));
  EXPECT_THAT(kept("ORDERS"), IsEmpty());
  restart_with([](Transaction&) {});
  EXPECT_THAT(SourceConsumers().release(look().left, origins), ElementsAre(kOfOrders))
      << "the broker does not have it any more";
  world.must(ForgetConsumer{kOfOrders});
  EXPECT_THAT(look().left, IsEmpty());
}

}  // namespace
}  // namespace millrace
