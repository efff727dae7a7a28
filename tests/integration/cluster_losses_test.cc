// Nodes of a cluster whose log has lost its newest messages, on one nats-server: registered nodes,
// a standby that appends the messages again, and an operator who continues without them. Needs
// nats-server 2.10 or newer (tests/brokers/fetch.sh); without it, the tests are skipped.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/log_stream.h"
#include "broker/stored_message.h"
#include "tests/integration/leader_fault.h"
#include "tests/support/folder.h"
#include "tests/support/held_port.h"
#include "tests/support/millrace_server.h"
#include "tests/support/nats_cluster.h"
#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kParcel = R"(
id: parcel
start: {type: event, event: {type: packed}}
states:
- {id: wait, type: consumeEvent, event: {type: sent, context: {parcel: jq(.packed.id)}}}
)";

class ClusterLosses : public testing::Test {
 protected:
  void SetUp() override {
    const std::optional<std::string> program = NatsCluster::newest_program();
    if (!program) GTEST_SKIP() << kNeedsNewerServer;
    nats_.emplace("", *program);
    std::ofstream(key()) << std::string(64, 'a');
    fs::permissions(key(), fs::perms::owner_read);
    for (size_t i = 0; i < 2; ++i) nodes_.push_back(std::make_unique<MillraceServer>(nats_->url()));
    start(0, true);
    ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  }

  std::string key() const { return (folder_.path() / "key").string(); }
  MillraceServer& node(size_t index) { return *nodes_[index]; }

  void start(size_t index, bool founds = false) {
    const std::string port = std::to_string(ports_[index].port());
    std::vector<std::string> arguments = {
        "--cluster",         "shop", "--stream-replicas", "1",
        "--secret-key-file", key(),  "--advertise",       "http://127.0.0.1:" + port};
    if (founds) arguments.emplace_back("--found");
    node(index).set_port(ports_[index].port());
    node(index).set_arguments(arguments);
    node(index).start();
  }
  bool is_ready(size_t index) { return node(index).ask("GET", "/readyz").status == 200; }
  bool is_active(size_t index) { return node(index).ask("GET", "/activez").status == 200; }
  bool becomes_active(size_t index) {
    return eventually([&] { return is_active(index) && is_ready(index); });
  }
  bool waits_for_what_is_lost(size_t index) {
    return eventually([&] {
      return node(index).ask("GET", "/readyz").body.find("cluster.log_lost") != std::string::npos;
    });
  }

  void pack(size_t to, int first, int last) {
    for (int id = first; id < last; ++id) {
      const Json event = {{"specversion", "1.0"},
                          {"id", std::to_string(id)},
                          {"source", "/test"},
                          {"type", "packed"},
                          {"parcel", std::to_string(id)},
                          {"data", {{"id", std::to_string(id)}}}};
      const HttpReply reply = node(to).ask("POST", "events", event.dump(),
                                           {{"Content-Type", "application/cloudevents+json"}});
      ASSERT_LT(reply.status, 300) << reply.body;
    }
  }
  bool has_parcels(size_t at, size_t count) {
    return node(at).has_instances("workflow=parcel", count);
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
    start(1);
    ASSERT_TRUE(eventually([&] { return is_ready(1); })) << node(1).process().errors();
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_TRUE(eventually([&] { return registered(i).size() == 2; }))
          << node(i).process().errors();
    }
  }

  std::optional<NatsServer> nats_;
  Folder folder_;
  std::vector<HeldPort> ports_ = std::vector<HeldPort>(2);
  std::vector<std::unique_ptr<MillraceServer>> nodes_;
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
