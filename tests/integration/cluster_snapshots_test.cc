// A cluster that is founded with the folder of a server without one, and nodes that join by a
// snapshot, on one nats-server. Needs nats-server 2.10 or newer (tests/brokers/fetch.sh); without
// it, the tests are skipped.
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/leader_fault.h"
#include "tests/support/folder.h"
#include "tests/support/held_port.h"
#include "tests/support/millrace_server.h"
#include "tests/support/nats_cluster.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::SizeIs;

/// Each ticket waits until it is closed.
constexpr const char* kTicket = R"(
id: ticket
start: {type: event, event: {type: opened}}
states:
- id: wait
  type: consumeEvent
  event: {type: closed, context: {ticket: jq(.opened.id)}}
)";

class ClusterSnapshotsTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::optional<std::string> program = NatsCluster::newest_program();
    if (!program) GTEST_SKIP() << kNeedsNewerServer;
    nats_.emplace("", *program);
    std::ofstream(key()) << std::string(64, 'a');
    fs::permissions(key(), fs::perms::owner_read);
    for (size_t i = 0; i < 2; ++i) nodes_.push_back(std::make_unique<MillraceServer>(nats_->url()));
  }

  std::string key() const { return (folder_.path() / "key").string(); }
  MillraceServer& node(size_t index) { return *nodes_[index]; }

  /// Starts the node, and waits until it is ready.
  void start(size_t index, bool founds = false) {
    const std::string port = std::to_string(ports_[index].port());
    std::vector<std::string> arguments = {"--cluster", "shop",        "--secret-key-file",
                                          key(),       "--advertise", "http://127.0.0.1:" + port};
    if (are_snapshots_due_) {
      arguments.insert(arguments.end(), {"--snapshot-after", "1", "--broker-sync-interval", "1ms"});
    }
    if (founds) arguments.emplace_back("--found");
    node(index).set_port(ports_[index].port());
    node(index).set_arguments(arguments);
    node(index).start();
    ASSERT_TRUE(eventually([&] { return node(index).ask("GET", "/readyz").status == 200; }))
        << node(index).process().errors();
  }
  void start_alone(size_t index) {
    node(index).set_arguments({"--secret-key-file", key()});
    node(index).start_ready();
  }
  bool becomes_active(size_t index) {
    return eventually([&] { return node(index).ask("GET", "/activez").status == 200; });
  }

  /// Where the log begins, as node 0 has trimmed it; 0: it has not.
  uint64_t begin_of_log() {
    const std::string log = node(0).process().errors();
    const std::string_view words = "the log of the cluster begins at message ";
    const size_t at = log.rfind(words);
    return at == std::string::npos ? 0 : std::stoull(log.substr(at + words.size()));
  }

  void send(size_t to, const std::string& type, int first, int last) {
    for (int id = first; id < last; ++id) {
      const Json event = {{"specversion", "1.0"},
                          {"id", fmt::format("{}-{}", type, id)},
                          {"source", "/test"},
                          {"type", type},
                          {"ticket", std::to_string(id)},
                          {"data", {{"id", std::to_string(id)}}}};
      const HttpReply reply = node(to).ask("POST", "events", event.dump(),
                                           {{"Content-Type", "application/cloudevents+json"}});
      ASSERT_LT(reply.status, 300) << reply.body;
    }
  }

  bool are_snapshots_due_ = false;  ///< at each start; they rest a millisecond
  std::optional<NatsServer> nats_;
  Folder folder_;
  std::vector<HeldPort> ports_ = std::vector<HeldPort>(2);
  std::vector<std::unique_ptr<MillraceServer>> nodes_;
};

TEST_F(ClusterSnapshotsTest, FoundAClusterWithTheStoreOfAServerWithoutOne) {
  start_alone(0);
  node(0).apply(kTicket);
  send(0, "opened", 0, 20);
  ASSERT_TRUE(node(0).has_instances("workflow=ticket", 20));
  node(0).stop();

  start(0, true);
  ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  EXPECT_THAT(node(0).instances("workflow=ticket"), SizeIs(20));
  send(0, "closed", 0, 5);
  ASSERT_TRUE(node(0).has_instances("workflow=ticket&status=complete", 5));
  start(1);
  EXPECT_TRUE(node(1).process().error_line("the snapshot is loaded"));
  node(0).kill();
  ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
  EXPECT_THAT(node(1).instances("workflow=ticket"), SizeIs(20));
  send(1, "closed", 5, 20);
  EXPECT_TRUE(node(1).has_instances("workflow=ticket&status=complete", 20));

  start(0, true);
  for (const auto& entry : fs::directory_iterator(node(0).data())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("replaced-"))
        << "the log has what its folder lacks";
  }
  EXPECT_THAT(node(0).instances("workflow=ticket"), SizeIs(20));
}

TEST_F(ClusterSnapshotsTest, BringBackANodeThatWasAwayWhileTheLogWasTrimmed) {
  are_snapshots_due_ = true;
  start(0, true);
  ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  node(0).apply(kTicket);
  send(0, "opened", 0, 10);
  start(1);
  const auto position = node(1).get("/v1/cluster").at("nodes").at(0).at("position").get<uint64_t>();
  node(1).stop();
  send(0, "opened", 10, 30);
  // A snapshot is due when the log behind the newest one has as many bytes as the store, so each
  // write replaces the one before.
  std::minstd_rand random(1);
  ASSERT_TRUE(eventually([&] {
    std::string value(size_t{100} << 10, ' ');
    for (char& byte : value) byte = static_cast<char>(random() % 256);
    EXPECT_LT(node(0).ask("PUT", "variables/large", value).status, 300);
    return begin_of_log() > position + 100;
  })) << node(0).process().errors();
  const Json cluster = node(0).get("/v1/cluster");
  EXPECT_GE(cluster.at("snapshots").at("count"), 2) << cluster;
  ASSERT_TRUE(node(0).has_instances("workflow=ticket", 30));

  start(1);
  EXPECT_TRUE(node(1).process().error_line("its files are in"));
  node(0).kill();
  ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
  EXPECT_TRUE(node(1).has_instances("workflow=ticket", 30));
  send(1, "closed", 0, 30);
  EXPECT_TRUE(node(1).has_instances("workflow=ticket&status=complete", 30));
}

}  // namespace
}  // namespace millrace
