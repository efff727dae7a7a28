// The registered nodes of a cluster, which count when its log has lost something, on one
// nats-server. Needs nats-server 2.10 or newer (tests/brokers/fetch.sh); without it, the tests are
// skipped.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/cluster_pair.h"
#include "tests/integration/leader_fault.h"
#include "tests/support/nats_cluster.h"
#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::SizeIs;

class ClusterLosses : public ClusterPair {
 protected:
  void SetUp() override {
    const std::optional<std::string> program = NatsCluster::newest_program();
    if (!program) GTEST_SKIP() << kNeedsNewerServer;
    nats_.emplace("", *program);
    make_nodes(nats_->url());
    start(0, true);
    ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  }

  /// The registered nodes, as that node knows them.
  std::vector<Json> registered(size_t at) {
    std::vector<Json> found;
    const Json cluster = node(at).get("/v1/cluster");
    for (const Json& one : cluster.at("nodes")) {
      if (one.contains("firstSeen")) found.push_back(one);
    }
    return found;
  }
  std::string id_of(size_t index) {
    return node(index).get("/v1/cluster").at("node").get<std::string>();
  }

  /// Starts node 1, and waits until both nodes know that both are registered.
  void start_second() {
    start_ready(1);
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_TRUE(eventually([&] { return registered(i).size() == 2; }))
          << node(i).process().errors();
    }
  }

  std::optional<NatsServer> nats_;
};

TEST_F(ClusterLosses, ShowRegisteredNodesThatAreAwayUntilTheyAreRemoved) {
  start_second();
  const std::string active = id_of(0);
  const std::string standby = id_of(1);
  EXPECT_THAT(node(0).cli({"cluster", "remove", active}).errors,
              HasSubstr("is the active of the cluster"));
  EXPECT_THAT(node(0).cli({"cluster", "remove", standby}).errors,
              HasSubstr("answers, so it would be registered again"));
  EXPECT_THAT(node(0).cli({"cluster", "remove", std::string(32, '0')}).errors,
              HasSubstr("has no registered node"));
  node(1).kill();
  ASSERT_TRUE(eventually([&] {
    const std::vector<Json> nodes = registered(0);
    return nodes.size() == 2 && (nodes[0].at("role") == "away" || nodes[1].at("role") == "away");
  })) << node(0).process().errors();
  EXPECT_THAT(node(0).cli({"-o", "table", "cluster", "status"}).output,
              HasSubstr("registered, and without an answer: " + standby));
  EXPECT_EQ(node(0).cli({"cluster", "remove", standby}).code, 0);
  EXPECT_TRUE(eventually([&] { return registered(0).size() == 1; }));
}

TEST_F(ClusterLosses, DoNotDelayATakeoverIfNothingIsLostAndANodeIsAway) {
  start_second();
  node(0).kill();
  ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
  EXPECT_THAT(registered(1), SizeIs(2));
}

TEST_F(ClusterLosses, GiveACopyOfAFolderAnotherIdIfBothNodesRun) {
  const std::string first = id_of(0);
  fs::create_directories(node(1).data());
  fs::copy_file(node(0).data() / "node", node(1).data() / "node");
  start(1);
  ASSERT_TRUE(eventually([&] { return registered(0).size() == 2; })) << node(1).process().errors();
  EXPECT_TRUE(node(1).process().error_line("this node takes another id"));
  EXPECT_EQ(id_of(0), first) << "the active keeps the id";
  EXPECT_NE(id_of(1), first);
}

}  // namespace
}  // namespace millrace
