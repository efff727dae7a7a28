// What continues when the active of a cluster is killed and the standby takes over: the reading of
// a source. On one nats-server. Needs nats-server 2.10 or newer (tests/brokers/fetch.sh); without
// it, the tests are skipped.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/cluster_pair.h"
#include "tests/integration/leader_fault.h"
#include "tests/support/nats_cluster.h"
#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using testing::StartsWith;

class ClusterTakeover : public ClusterPair {
 protected:
  void SetUp() override {
    const std::optional<std::string> program = NatsCluster::newest_program();
    if (!program) GTEST_SKIP() << kNeedsNewerServer;
    nats_.emplace("", *program);
    make_nodes(nats_->url());
  }

  /// Starts both nodes. Node 0 is the active.
  void start_both() {
    start(0, true);
    ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
    ASSERT_NO_FATAL_FAILURE(start_ready(1));
  }
  /// Kills node 0, and waits until node 1 is the active.
  void take_over() {
    node(0).kill();
    ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
  }
  /// Starts node 0 again, as a standby.
  void start_former_active() {
    ASSERT_NO_FATAL_FAILURE(start_ready(0));
    ASSERT_FALSE(is_active(0));
  }

  /// The stream with that name, for one subject, as another program makes it.
  Json make_stream(const std::string& name, const std::string& subject) {
    const auto made = broker().api("STREAM.CREATE." + name, {{"name", name},
                                                             {"subjects", Json::array({subject})},
                                                             {"retention", "limits"},
                                                             {"storage", "file"},
                                                             {"max_age", 0},
                                                             {"max_msgs", -1},
                                                             {"max_bytes", -1}});
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->at("config") : Json();
  }
  Connection& broker() {
    if (!connection_) connection_ = nats_->connect();
    return *connection_;
  }

  std::optional<NatsServer> nats_;

 private:
  std::unique_ptr<Connection> connection_;
};

constexpr const char* kTakenOrder = R"(
id: taken-order
start: {type: event, event: {type: order.placed}}
states:
- {id: say, type: generateEvent, event: {type: order.taken, source: /shop, data: 'jq({order: .["order.placed"].order})'}}
)";

TEST_F(ClusterTakeover, ContinuesToReadASourceWithEachMessageOnce) {
  constexpr size_t kBefore = 400;  // messages that the stream has when the active is killed
  constexpr size_t kAll = 600;
  ASSERT_NO_FATAL_FAILURE(start_both());
  const std::string stream_before = dump_json(make_stream("ORDERS", "shop.orders.*"));
  const auto publisher = nats_->client();
  const auto place = [&](size_t first, size_t last) {
    for (size_t number = first; number < last; ++number) {
      publisher->publish("shop.orders.eu", fmt::format(R"({{"order":"o-{}"}})", number));
    }
    publisher->flush();
  };
  const auto taken = nats_->client();
  taken->subscribe("millrace.events.default.order.taken");
  taken->flush();
  const auto apply = [&](size_t at, int rate) {
    const HttpReply reply =
        node(at).ask("PUT", "sources/orders",
                     fmt::format(R"({{"stream": "ORDERS", "begin": "all", "rate": {}, )"
                                 R"("mapping": {{"type": "order.placed"}}}})",
                                 rate));
    ASSERT_TRUE(reply.status == 200 || reply.status == 201) << reply.body;
  };
  const auto source = [&](size_t at) { return node(at).get("sources/orders"); };

  node(0).apply(kTakenOrder);
  place(0, kBefore);
  // So slow that the reading is under way when the active is killed.
  ASSERT_NO_FATAL_FAILURE(apply(0, 50));
  ASSERT_TRUE(eventually([&] { return source(0)["position"] >= 20; })) << source(0);
  ASSERT_NO_FATAL_FAILURE(take_over());
  place(kBefore, kAll);  // at the kill, the position was lower than the number of all messages
  ASSERT_NO_FATAL_FAILURE(apply(1, 100'000));

  ASSERT_TRUE(eventually([&] { return source(1)["position"] == kAll; })) << source(1);
  EXPECT_EQ(source(1)["events"], kAll);
  EXPECT_EQ(source(1)["refused"], 0);
  EXPECT_EQ(source(1)["gone"], 0);
  EXPECT_TRUE(node(1).has_usage(0, kAll));
  std::set<std::string> orders;
  while (orders.size() < kAll) {
    const auto message = taken->next(kPatience);
    ASSERT_TRUE(message);
    orders.insert(Json::parse(message->data).at("data").at("order").get<std::string>());
  }
  // So many instances for so many orders: each order has started one.
  EXPECT_THAT(node(1).instances("workflow=taken-order"), SizeIs(kAll));

  const auto info = broker().api("STREAM.INFO.ORDERS", Json::object());
  ASSERT_TRUE(info);
  EXPECT_EQ(dump_json(info->at("config")), stream_before);
  EXPECT_EQ(info->at("state").at("messages"), kAll);
  std::vector<std::string> consumers;
  ASSERT_TRUE(eventually([&] {
    const auto names = broker().api("CONSUMER.NAMES.ORDERS", Json::object());
    if (names) consumers = names->at("consumers").get<std::vector<std::string>>();
    return consumers.size() == 1;
  })) << "that of the former active is replaced";
  EXPECT_THAT(consumers, ElementsAre(StartsWith("millrace-default-orders-")));

  ASSERT_NO_FATAL_FAILURE(start_former_active());
  EXPECT_EQ(source(0)["events"], kAll) << "a standby hands on to the active";
}

}  // namespace
}  // namespace millrace
