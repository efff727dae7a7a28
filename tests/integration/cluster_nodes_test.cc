// Nodes of a cluster on three nats-servers: an active dies, is stopped, is asked to end. Needs
// nats-server 2.10 or newer (tests/brokers/fetch.sh); without it, the tests are skipped.
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/node_roll.h"
#include "tests/integration/cluster_pair.h"
#include "tests/integration/leader_fault.h"
#include "tests/support/nats_cluster.h"

namespace millrace {
namespace {

using testing::SizeIs;

/// Each order waits until it is paid, and then says so.
constexpr const char* kPaidOrder = R"(
id: order
start: {type: event, event: {type: ordered}}
states:
- id: wait
  type: consumeEvent
  event: {type: paid, context: {order: jq(.ordered.id)}}
  transition: say
- {id: say, type: generateEvent, event: {type: delivered, source: /order, data: 'jq({id: .ordered.id})'}}
)";

class ClusterNodes : public ClusterPair {
 protected:
  void SetUp() override {
    const std::optional<std::string> program = NatsCluster::newest_program();
    if (!program) GTEST_SKIP() << kNeedsNewerServer;
    nats_.emplace(*program);
    make_nodes(nats_->urls());
    set_replicas(3);
    for (const size_t index : {0, 1}) ASSERT_NO_FATAL_FAILURE(start_ready(index, index == 0));
    ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  }

  /// All orders that are complete, as that node sees it.
  bool has_complete(size_t at, size_t count) {
    return node(at).has_instances("workflow=order&status=complete", count);
  }

  /// Waits until the folder of that node, which is not the active, has so many instances.
  bool has_copy(size_t at, size_t count) {
    return eventually([&] {
      const HttpReply copy = node(at).ask("GET", "instances?stale=1");
      EXPECT_GE(std::stod(copy.header("Millrace-Stale")), 0);
      EXPECT_GT(std::stoull(copy.header("Millrace-Position")), 0U);
      return copy.status == 200 && copy.json().at("items").size() == count;
    });
  }

  std::optional<NatsCluster> nats_;
};

TEST_F(ClusterNodes, LoseAndRepeatNothingIfTheActiveDies) {
  node(0).apply(kPaidOrder);
  send(0, "ordered", "order", 0, 10);
  ASSERT_TRUE(node(0).has_instances("workflow=order", 10));
  send(0, "paid", "order", 0, 5);
  node(0).kill();
  ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
  send(1, "paid", "order", 5, 10);
  EXPECT_TRUE(has_complete(1, 10));
  EXPECT_THAT(node(1).instances("workflow=order"), SizeIs(10)) << "no order is started twice";

  start(0);
  // It shows at once what its folder has, and is not ready before it has read the log.
  const Json nodes = node(0).get("/v1/cluster").at("nodes");
  EXPECT_GT(nodes.at(0).at("position").get<uint64_t>(), 0U) << nodes;
  ASSERT_TRUE(eventually([&] { return is_ready(0); })) << node(0).process().errors();
  EXPECT_FALSE(is_active(0)) << "the other node stays the active";
  EXPECT_THAT(node(0).instances("workflow=order"), SizeIs(10))
      << "a standby hands on to the active";
}

TEST_F(ClusterNodes, ReplaceAnActiveThatIsSuspended) {
  node(0).apply(kPaidOrder);
  send(0, "ordered", "order", 1, 2);
  ASSERT_TRUE(node(0).has_instances("workflow=order", 1));
  node(0).process().signal(SIGSTOP);
  ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
  send(1, "paid", "order", 1, 2);
  EXPECT_TRUE(has_complete(1, 1));
  node(0).process().signal(SIGCONT);
  const std::optional<std::string> replaced =
      node(0).process().error_line("the process starts again");
  ASSERT_TRUE(replaced) << node(0).process().errors();
  ASSERT_TRUE(eventually([&] { return is_ready(0) && !is_active(0); }))
      << node(0).process().errors();
  EXPECT_TRUE(is_active(1));
}

TEST_F(ClusterNodes, AnswerNoReadsIfTheActiveIsCutOff) {
  node(0).apply(kPaidOrder);
  send(0, "ordered", "order", 0, 1);
  ASSERT_TRUE(node(0).has_instances("workflow=order", 1));
  for (size_t i = 0; i < NatsCluster::kServers; ++i) nats_->server(i).process().kill();
  ASSERT_TRUE(eventually([&] {
    return node(0).ask("GET", "/readyz").body.find("log.unreachable") != std::string::npos;
  })) << node(0).process().errors();
  const HttpReply read = node(0).ask("GET", "instances");
  EXPECT_EQ(read.status, 503) << read.body;
  EXPECT_EQ(read.code(), "log.unreachable");
  EXPECT_FALSE(is_active(0));
}

TEST_F(ClusterNodes, HandOverIfTheActiveIsAskedToEnd) {
  node(0).apply(kPaidOrder);
  send(0, "ordered", "order", 1, 2);
  ASSERT_TRUE(node(0).has_instances("workflow=order", 1));
  node(0).stop();
  ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
  send(1, "paid", "order", 1, 2);
  EXPECT_TRUE(has_complete(1, 1));
}

TEST_F(ClusterNodes, TakeNothingOverAsLongAsAnotherNodeHasMoreOfTheLog) {
  node(0).apply(kPaidOrder);
  send(0, "ordered", "order", 1, 2);
  ASSERT_TRUE(node(0).has_instances("workflow=order", 1));
  ASSERT_TRUE(has_copy(1, 1));
  const std::unique_ptr<Connection> connection = nats_->connect();
  const auto epoch = node(0).get("/v1/cluster").at("epoch").get<uint64_t>();
  // A node that has what the log has lost.
  auto other =
      std::make_unique<NodeRoll>(*connection, node_roll_subject("shop"), log_key(), [epoch] {
        return Json{{"node", "other"},    {"role", "starting"},
                    {"epoch", epoch},     {"position", 1'000'000},
                    {"behindCommits", 0}, {"behindSeconds", 0},
                    {"version", "1"},     {"address", "http://other:8780"}};
      });
  ASSERT_TRUE(other->answer());
  node(0).kill();
  ASSERT_TRUE(waits_for_what_is_lost(1)) << node(1).process().errors();
  EXPECT_FALSE(is_active(1));
  EXPECT_EQ(node(1).ask("GET", "instances").status, 503);
  EXPECT_TRUE(has_copy(1, 1)) << "reads that may be stale need no active";
  EXPECT_TRUE(node(1).process().error_line("node other at http://other:8780 has it up to message"));
  other.reset();
  ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
}

TEST_F(ClusterNodes, AnswerAllRequestsAndShowOneAnother) {
  EXPECT_EQ(node(1).ask("PUT", "workflows/order", kPaidOrder).status, 200) << "handed on";
  send(1, "ordered", "order", 1, 2);
  EXPECT_TRUE(node(1).has_instances("workflow=order", 1));
  EXPECT_TRUE(has_copy(1, 1));
  EXPECT_EQ(node(0).ask("GET", "instances?stale=1").header("Millrace-Stale"), "")
      << "the active answers as ever";
  // The nodes ask one another once a second.
  EXPECT_TRUE(eventually([&] {
    const ProcessEnd status = node(1).cli({"-o", "table", "cluster", "status"});
    EXPECT_EQ(status.code, 0) << status.errors;
    return status.output.find("cluster shop: healthy") != std::string::npos;
  }));
}

}  // namespace
}  // namespace millrace
