// Kills millrace and the broker in turns while another program fills a stream that a source reads,
// on each version of nats-server that docs/nats.md names. Environment variables:
// MILLRACE_SOURCED=200000 sets the number of messages, MILLRACE_SOURCED_KILLS=20 that of the kills.
// MILLRACE_SOURCED_PUBLISHER is the path of publisher.mjs beside its npm packages: that program
// then fills the stream, as in `./dev faults`; otherwise the client of millrace does
// (order_publisher.h).
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/integration/environment_number.h"
#include "tests/integration/order_publisher.h"
#include "tests/support/campaign.h"
#include "tests/support/millrace_server.h"
#include "tests/support/nats_cluster.h"

namespace millrace {
namespace {

using testing::StartsWith;
using testing::UnorderedElementsAre;

/// The major and the minor number of the version of the nats-server.
class SourceKills : public testing::TestWithParam<std::pair<int, int>> {
 protected:
  void SetUp() override {
    const auto [major, minor] = GetParam();
    const std::optional<std::string> program = NatsCluster::newest_program_of(major, minor);
    if (!program) {
      GTEST_SKIP() << fmt::format(
          "this test needs nats-server {}.{}; tests/brokers/fetch.sh downloads newer versions than "
          "that of Debian 12, and MILLRACE_NATS_SERVER must not name another version",
          major, minor);
    }
    nats_ = std::make_unique<NatsServer>("", *program);
    connection_ = nats_->connect();
    make_stream();
    millrace_ = std::make_unique<MillraceServer>(nats_->url());
    millrace_->start_ready();
    millrace_->apply(kTakesOrders);
  }

  /// The stream of another program, with a consumer of that program.
  void make_stream() {
    const auto made =
        connection_->api("STREAM.CREATE.ORDERS", {{"name", "ORDERS"},
                                                  {"subjects", Json::array({"shop.orders.*"})},
                                                  {"retention", "limits"},
                                                  {"storage", "file"},
                                                  {"max_age", 0},
                                                  {"max_msgs", -1},
                                                  {"max_bytes", -1},
                                                  {"duplicate_window", kDuplicateWindow}});
    ASSERT_TRUE(made) << made.error().message;
    const auto consumer =
        connection_->api("CONSUMER.DURABLE.CREATE.ORDERS.other",
                         {{"stream_name", "ORDERS"},
                          {"config", {{"durable_name", "other"}, {"ack_policy", "explicit"}}}});
    ASSERT_TRUE(consumer) << consumer.error().message;
  }
  /// What the broker says of the stream, or of its consumer `other`, once it answers.
  Json info(const std::string& request) const {
    std::optional<Json> answer;
    EXPECT_TRUE(eventually([&] {
      const auto said = connection_->api(request, Json::object());
      if (said) answer = *said;
      return said.has_value();
    })) << request;
    return answer.value_or(Json::object());
  }
  std::vector<std::string> consumers() const {
    const Json answer = info("CONSUMER.NAMES.ORDERS");
    std::vector<std::string> names;
    for (const Json& name : answer.at("consumers")) names.push_back(name.get<std::string>());
    return names;
  }
  Json source() const { return millrace_->get("sources/orders"); }

  void kill_millrace() {
    millrace_->kill();
    millrace_->start_ready();
  }
  /// Kills the broker, which starts again with the same store and port.
  void kill_broker() {
    nats_->process().kill();
    const Status again = nats_->process().start_again();
    ASSERT_TRUE(again) << again.error().message;
    ASSERT_TRUE(connection_->wait_until_connected(kPatience));
  }
  void expect_each_order_once(size_t count) const {
    ASSERT_TRUE(eventually([&] { return source()["position"] == count; })) << source();
    const Json shown = source();
    EXPECT_EQ(shown["events"], count);
    EXPECT_EQ(shown["refused"], 0);
    EXPECT_EQ(shown["gone"], 0);
    EXPECT_TRUE(millrace_->has_usage(0, count));
  }

  static constexpr const char* kTakesOrders = R"(
id: takes-orders
start: {type: event, event: {type: order.placed}}
states:
- {id: done, type: noop}
)";
  /// An hour in nanoseconds: longer than an order may be published again.
  static constexpr int64_t kDuplicateWindow = 3'600'000'000'000;

  std::unique_ptr<NatsServer> nats_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<MillraceServer> millrace_;
};

TEST_P(SourceKills, StartOneInstanceForEachMessage) {
  const size_t count = number_from("MILLRACE_SOURCED", 2'000);
  const size_t kills = std::max<size_t>(number_from("MILLRACE_SOURCED_KILLS", 4), 1);
  const auto [major, minor] = GetParam();
  fmt::print("MILLRACE_SOURCED={} MILLRACE_SOURCED_KILLS={}\n", count, kills);
  Campaign campaign(fmt::format("kill beside a source, NATS {}.{}", major, minor),
                    "each message one instance, the stream as it was");
  const Json stream_before = info("STREAM.INFO.ORDERS").at("config");
  const Json other_before = info("CONSUMER.INFO.ORDERS.other").at("config");
  const HttpReply applied =
      millrace_->ask("PUT", "sources/orders",
                     R"({"stream": "ORDERS", "begin": "all", "rate": 100000, )"
                     R"("mapping": {"type": "order.placed"}})");
  ASSERT_EQ(applied.status, 201) << applied.body;

  const auto orders = start_publisher(nats_->url(), "shop.orders.eu", count);
  fmt::print("published by {}\n", orders->name());
  for (size_t kill = 1; kill <= kills; ++kill) {
    campaign.run(fmt::format("kill {}", kill), [&] {
      const size_t before = count * (kill - 1) / kills;
      const size_t share = count * kill / kills;
      orders->allow(share);
      // In the middle of its share: the stream is being filled.
      ASSERT_TRUE(eventually([&] { return orders->acknowledged() >= (before + share) / 2; }));
      if (kill % 2 == 1) {
        kill_millrace();
      } else {
        kill_broker();
      }
    });
    if (HasFatalFailure()) return;
  }
  ASSERT_TRUE(eventually([&] { return orders->acknowledged() == count; }));
  fmt::print("published again: {}\n", orders->repeated());

  const Json state = info("STREAM.INFO.ORDERS").at("state");
  EXPECT_EQ(state.at("messages"), count);
  EXPECT_EQ(state.at("last_seq"), count);
  expect_each_order_once(count);
  EXPECT_EQ(dump_json(info("STREAM.INFO.ORDERS").at("config")), dump_json(stream_before));
  const Json other = info("CONSUMER.INFO.ORDERS.other");
  EXPECT_EQ(dump_json(other.at("config")), dump_json(other_before));
  EXPECT_EQ(other.at("num_pending"), count) << "it still gets each message";
  EXPECT_TRUE(eventually([&] { return consumers().size() == 2; })) << "while it is created again";
  EXPECT_THAT(consumers(), UnorderedElementsAre("other", StartsWith("millrace-default-orders-")));
  millrace_->stop();
}

INSTANTIATE_TEST_SUITE_P(With, SourceKills,
                         testing::Values(std::pair(2, 9), std::pair(2, 10), std::pair(2, 15)),
                         [](const testing::TestParamInfo<std::pair<int, int>>& tested) {
                           return fmt::format("NatsServer{}_{}", tested.param.first,
                                              tested.param.second);
                         });

}  // namespace
}  // namespace millrace
